//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"strings"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubeVIPLease is held by the node that has the control plane's virtual IP address.
const kubeVIPLease = "plndr-cp-lock"

// guest gives access to a workload cluster as its users have it: through its control-plane endpoint.
type guest struct {
	client.Client
	config *rest.Config
}

func (c *cluster) guest(ctx context.Context) guest {
	proxy := management.GetWorkloadCluster(ctx, c.namespace, c.name)
	return guest{Client: proxy.GetClient(), config: proxy.GetRESTConfig()}
}

// leader returns the node that has the virtual IP address; "" if none of them has it.
func (w guest) leader(ctx context.Context) string {
	lease := &coordinationv1.Lease{}
	err := w.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: kubeVIPLease}, lease)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// deploy runs pods with anti-affinity that leave an unreachable node soon. No image can be pulled, so they run one that every node has.
func (w guest) deploy(ctx context.Context, replicas int32) {
	labels := map[string]string{"app": "served"}
	var tolerations []corev1.Toleration
	for _, taint := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
		tolerations = append(tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](5),
		})
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "served"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers:  []corev1.Container{{Name: "pause", Image: w.pauseImage(ctx)}},
					Tolerations: tolerations,
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
						MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
						LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
					}},
				},
			},
		},
	}
	Expect(w.Create(ctx, deployment)).To(Succeed())
}

func (w guest) pauseImage(ctx context.Context) string {
	nodes := &corev1.NodeList{}
	Expect(w.List(ctx, nodes)).To(Succeed())
	for _, node := range nodes.Items {
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				if strings.Contains(name, "/pause:") {
					return name
				}
			}
		}
	}
	Expect(nodes.Items).To(BeEmpty(), "no node has a pause image")
	return ""
}

// served waits until all pods of the deployment are available.
func (w guest) served(ctx context.Context, spec string, replicas int32) {
	Eventually(func(g Gomega) {
		deployment := &appsv1.Deployment{}
		g.Expect(w.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "served"}, deployment)).To(Succeed())
		g.Expect(deployment.Status.AvailableReplicas).To(Equal(replicas))
		pods := &corev1.PodList{}
		g.Expect(w.List(ctx, pods, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{"app": "served"})).To(Succeed())
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp.IsZero() {
				g.Expect(pods.Items[i].Status.Phase).To(Equal(corev1.PodRunning))
			}
		}
	}, config.GetIntervals(spec, "wait-nodes-ready")...).Should(Succeed())
}

// ready counts the ready nodes.
func (w guest) ready(ctx context.Context, g Gomega) int {
	nodes := &corev1.NodeList{}
	g.Expect(w.List(ctx, nodes)).To(Succeed())
	count := 0
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				count++
			}
		}
	}
	return count
}
