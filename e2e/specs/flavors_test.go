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

// writeTemplates adapts the cluster templates in clusterctl's repository to specs that run in parallel: cluster-scoped objects are
// applied once, and removed from the templates. It also adds variants that only specs need.
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
	// The single-machine control plane of the spec could not be remediated.
	remediation := append(without(string(template), "kind: MachineHealthCheck"), workerHealthCheck)
	writeTemplate("cluster-template-md-remediation.yaml", strings.Join(remediation, separator))
	writeTemplate("cluster-template-"+rolloutFlavor+".yaml", withTaints(string(template)))
	if !*fast {
		writeBootFlavors(string(template))
	}
}

// refreshVersions updates the later versions that upgrades of earlier runs have left to the content of the first version.
func refreshVersions(first string) {
	versions, err := filepath.Glob(filepath.Join(repositoryFolder(), "v*"))
	Expect(err).NotTo(HaveOccurred())
	for _, folder := range versions {
		if version := filepath.Base(folder); version != first {
			copyVersion(first, version)
		}
	}
}

// copyVersion adds a version of the provider to clusterctl's repository that differs only in its name.
func copyVersion(from, to string) {
	Expect(os.RemoveAll(filepath.Join(repositoryFolder(), to))).To(Succeed())
	Expect(os.CopyFS(filepath.Join(repositoryFolder(), to), os.DirFS(filepath.Join(repositoryFolder(), from)))).To(Succeed())
}

// writeTemplate writes a template into each version of the provider: an earlier run may have left the cluster with a later version, and
// clusterctl uses the templates of the installed one.
func writeTemplate(name, content string) {
	versions, err := filepath.Glob(filepath.Join(repositoryFolder(), "v*"))
	Expect(err).NotTo(HaveOccurred())
	Expect(versions).NotTo(BeEmpty())
	for _, folder := range versions {
		Expect(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600)).To(Succeed())
	}
}

// applyShared creates the objects of the cluster template that clusters share, after removing those of earlier runs.
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
	Eventually(func(g Gomega) { // A failure domain can be deleted once no zone references it.
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

// repositoryFolder returns the folder of the provider's versions in clusterctl's repository.
func repositoryFolder() string {
	return filepath.Join(filepath.Dir(environment.ClusterctlConfig()), "infrastructure-"+*providerName)
}

// without omits the objects that contain a line.
func without(template, line string) []string {
	var kept []string
	for _, object := range strings.Split(template, separator) {
		if !strings.Contains(object, line) {
			kept = append(kept, object)
		}
	}
	return kept
}
