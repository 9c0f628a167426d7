//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/yaml"
)

// others are the management clusters of a spec in addition to the shared one.
var others []framework.ClusterProxy

// collectors write what only some specs have, each into a folder.
var collectors []func(ctx context.Context, folder string)

// isManager reports whether a pod belongs to Cluster API or a provider.
func isManager(pod *corev1.Pod) bool {
	_, manager := pod.Labels[clusterv1.ProviderNameLabel]
	return manager
}

// writePodLogs writes the logs of the selected pods, including those of terminated containers.
func writePodLogs(ctx context.Context, proxy framework.ClusterProxy, folder string, wanted func(*corev1.Pod) bool) {
	pods := &corev1.PodList{}
	Expect(proxy.GetClient().List(ctx, pods)).To(Succeed())
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !wanted(pod) {
			continue
		}
		for _, status := range pod.Status.ContainerStatuses {
			for _, previous := range []bool{false, true} {
				if previous && status.RestartCount == 0 {
					continue
				}
				name := pod.Name + "." + status.Name
				if previous {
					name += ".previous"
				}
				request := proxy.GetClientSet().CoreV1().Pods(pod.Namespace).GetLogs(pod.Name,
					&corev1.PodLogOptions{Container: status.Name, Previous: previous})
				stream, err := request.Stream(ctx)
				Expect(err).NotTo(HaveOccurred())
				writeLog(filepath.Join(folder, name+".log"), stream)
				Expect(stream.Close()).To(Succeed())
			}
		}
	}
}

func writeLog(path string, from io.Reader) {
	file, err := os.Create(path)
	Expect(err).NotTo(HaveOccurred())
	_, err = io.Copy(file, from)
	Expect(err).NotTo(HaveOccurred())
	Expect(file.Close()).To(Succeed())
}

// writeContainerLogs writes the logs of containers outside of the clusters: simulated vCenters, and machines that boot.
func writeContainerLogs(ctx context.Context, folder string) {
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	names, err := exec.CommandContext(ctx, "docker", "ps", "--all", "--format", "{{.Names}}",
		"--filter", "label=io.faultline.environment="+*name).Output()
	Expect(err).NotTo(HaveOccurred())
	for container := range strings.FieldsSeq(string(names)) {
		log, err := exec.CommandContext(ctx, "docker", "logs", "--timestamps", container).CombinedOutput()
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(folder, container+".log"), log, 0o600)).To(Succeed())
	}
}

// writeObjects writes the objects of Cluster API and of providers that belong to the spec or are cluster-scoped, and returns the
// conditions of unhealthy ones.
func writeObjects(ctx context.Context, proxy framework.ClusterProxy, folder string) []condition {
	var sick []condition
	for _, kind := range kindsOfProviders(ctx, proxy) {
		objects := &unstructured.UnstructuredList{}
		objects.SetGroupVersionKind(kind)
		Expect(proxy.GetClient().List(ctx, objects)).To(Succeed())
		for i := range objects.Items {
			object := &objects.Items[i]
			if namespace := object.GetNamespace(); namespace != "" && namespace != specNamespace {
				continue
			}
			object.SetManagedFields(nil)
			content, err := yaml.Marshal(object)
			Expect(err).NotTo(HaveOccurred())
			Expect(os.MkdirAll(filepath.Join(folder, kind.Kind), 0o755)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(folder, kind.Kind, object.GetName()+".yaml"), content, 0o600)).To(Succeed())
			if c := failing(object); c != nil {
				sick = append(sick, *c)
			}
		}
	}
	return sick
}

func kindsOfProviders(ctx context.Context, proxy framework.ClusterProxy) []schema.GroupVersionKind {
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	Expect(proxy.GetClient().List(ctx, definitions)).To(Succeed())
	var kinds []schema.GroupVersionKind
	for i := range definitions.Items {
		spec := &definitions.Items[i].Spec
		if !strings.HasSuffix(spec.Group, "cluster.x-k8s.io") && spec.Group != "metal3.io" {
			continue
		}
		for _, version := range spec.Versions {
			if version.Storage {
				kinds = append(kinds, schema.GroupVersionKind{Group: spec.Group, Version: version.Name, Kind: spec.Names.Kind})
			}
		}
	}
	return kinds
}

// condition is a condition that reports an unhealthy object.
type condition struct {
	metav1.Condition

	object *unstructured.Unstructured
}

// failing returns the summary condition of an object, if it is not true.
func failing(object *unstructured.Unstructured) *condition {
	for _, kind := range []string{clusterv1.ReadyCondition, clusterv1.AvailableCondition} {
		if c, err := conditions.UnstructuredGet(object, kind); err == nil && c != nil && c.Status != metav1.ConditionTrue {
			return &condition{Condition: *c, object: object}
		}
	}
	return nil
}

func (c condition) String() string {
	return fmt.Sprintf("%s %s: %s=%s (%s) since %s: %s", c.object.GetKind(), c.object.GetName(), c.Type, c.Status, c.Reason,
		c.LastTransitionTime.UTC().Format("15:04:05"), c.Message)
}

// compare sorts causes before effects: the deepest objects first, and among those the oldest condition.
func (c condition) compare(other condition) int {
	return cmp.Or(c.depth()-other.depth(), c.LastTransitionTime.Compare(other.LastTransitionTime.Time),
		cmp.Compare(c.object.GetName(), other.object.GetName()))
}

// depth is the distance of a kind from the machines: infrastructure kinds are near, a Cluster is far.
func (c condition) depth() int {
	groups := []string{"metal3.io", "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io"}
	kinds := []string{"Machine", "KubeadmControlPlane", "MachineSet", "MachineDeployment", "Cluster"}
	if group := slices.Index(groups, c.object.GroupVersionKind().Group); group >= 0 {
		return group
	}
	if kind := slices.Index(kinds, c.object.GetKind()); kind >= 0 {
		return len(groups) + kind
	}
	return len(groups) + len(kinds)
}
