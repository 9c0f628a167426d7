//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
)

const separator = "\n---\n"

// workerHealthCheck has the condition that the framework's remediation spec sets on a node.
const workerHealthCheck = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: ${CLUSTER_NAME}-md-a
  namespace: ${NAMESPACE:=default}
spec:
  clusterName: ${CLUSTER_NAME}
  selector:
    matchLabels:
      cluster.x-k8s.io/deployment-name: ${CLUSTER_NAME}-md-a
  checks:
    unhealthyNodeConditions:
    - type: e2e.remediation.condition
      status: "False"
      timeoutSeconds: 5
`

// writeTemplates makes the cluster templates in clusterctl's repository fit for specs that run beside each other: what is in
// no namespace is applied once, and left out of the templates. Variants that only specs need are added.
func writeTemplates(ctx context.Context) {
	first := config.GetProviderVersions(*providerName)[0]
	refreshVersions(first)
	folder := filepath.Join(repositoryFolder(), first)
	applyShared(ctx)
	paths, err := filepath.Glob(filepath.Join(folder, "cluster-template*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	for _, path := range paths {
		template, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		kept := string(template)
		for _, kind := range infra.Shared {
			kept = strings.Join(without(kept, "\nkind: "+kind+"\n"), separator)
		}
		writeTemplate(filepath.Base(path), kept)
	}
	template, err := os.ReadFile(filepath.Join(folder, "cluster-template.yaml"))
	Expect(err).NotTo(HaveOccurred())
	// The control plane of one machine that the spec has could not be remediated.
	remediation := append(without(string(template), "kind: MachineHealthCheck"), workerHealthCheck)
	writeTemplate("cluster-template-md-remediation.yaml", strings.Join(remediation, separator))
	writeTemplate("cluster-template-"+rolloutFlavor+".yaml", withTaints(string(template)))
	if !*fast {
		writeBootFlavors(string(template))
	}
}

// refreshVersions makes the later versions that an upgrade of an earlier run has left what the first is now.
func refreshVersions(first string) {
	versions, err := filepath.Glob(filepath.Join(repositoryFolder(), "v*"))
	Expect(err).NotTo(HaveOccurred())
	for _, folder := range versions {
		if version := filepath.Base(folder); version != first {
			copyVersion(first, version)
		}
	}
}

// copyVersion puts a version of the provider into clusterctl's repository that is another but for its name.
func copyVersion(from, to string) {
	Expect(os.RemoveAll(filepath.Join(repositoryFolder(), to))).To(Succeed())
	Expect(os.CopyFS(filepath.Join(repositoryFolder(), to), os.DirFS(filepath.Join(repositoryFolder(), from)))).To(Succeed())
}

// writeTemplate writes a template into each version of the provider: an earlier run may have left the cluster with a later
// one, and clusterctl takes the templates of what is installed.
func writeTemplate(name, content string) {
	versions, err := filepath.Glob(filepath.Join(repositoryFolder(), "v*"))
	Expect(err).NotTo(HaveOccurred())
	Expect(versions).NotTo(BeEmpty())
	for _, folder := range versions {
		Expect(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600)).To(Succeed())
	}
}

// applyShared makes the objects of the cluster template that clusters share, without those that an earlier run has left.
func applyShared(ctx context.Context) {
	if len(infra.Shared) == 0 {
		return
	}
	generated, err := environment.Template(ctx, GinkgoWriter, "shared", clusterctl.DefaultFlavor)
	Expect(err).NotTo(HaveOccurred())
	objects, err := managementcluster.Decode(generated)
	Expect(err).NotTo(HaveOccurred())
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !slices.Contains(infra.Shared, o.GetKind()) })
	Expect(objects).NotTo(BeEmpty())
	intervals := config.GetIntervals("default", "wait-failure-domain")
	Eventually(func(g Gomega) { // A failure domain goes when no zone names it any more.
		for _, object := range slices.Backward(objects) {
			g.Expect(client.IgnoreNotFound(management.GetClient().Delete(ctx, object))).To(Succeed())
		}
	}, intervals...).Should(Succeed())
	Eventually(func(g Gomega) {
		for _, object := range objects {
			g.Expect(client.IgnoreAlreadyExists(management.GetClient().Create(ctx, object.DeepCopy()))).To(Succeed())
			g.Expect(management.GetClient().Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			g.Expect(object.GetDeletionTimestamp()).To(BeNil(), "%s %s of an earlier run", object.GetKind(), object.GetName())
		}
	}, intervals...).Should(Succeed())
}

// repositoryFolder is where clusterctl finds the provider's versions.
func repositoryFolder() string {
	return filepath.Join(filepath.Dir(environment.ClusterctlConfig()), "infrastructure-"+*providerName)
}

// without leaves out the objects that hold a line.
func without(template, line string) []string {
	var kept []string
	for _, object := range strings.Split(template, separator) {
		if !strings.Contains(object, line) {
			kept = append(kept, object)
		}
	}
	return kept
}
