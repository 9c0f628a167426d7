// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/charts"
)

var update = flag.Bool("update", false, "write the cloud provider's manifests into the cluster template")

const (
	// generated is the last line before the manifests in the template.
	generated = "    # Generated from the chart harvester-cloud-provider by go test ./charts -run TestClusterTemplate -update in e2e.\n"
	// clusterName stands for the cluster's name in the chart's values, which accept no variable.
	clusterName = "name-of-the-cluster"
)

// TestClusterTemplateHasManifestsOfChart verifies that the flavor with a cloud provider installs what the chart installs.
func TestClusterTemplateHasManifestsOfChart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := filepath.Join("..", "..")
	chart, err := charts.Load(root, charts.CloudProvider, "")
	g.Expect(err).NotTo(HaveOccurred())
	// The provider writes the Secret with the kubeconfig into this namespace.
	manifests := renderIn(t, chart, "kube-system", `{clusterName: `+clusterName+`, cloudConfig: {secretName: cloud-config}, replicasCount: 2}`)
	documents := make([]string, 0, len(manifests))
	for _, object := range manifests {
		withoutRelease(object)
		document, err := sigsyaml.Marshal(object.Object)
		g.Expect(err).NotTo(HaveOccurred())
		documents = append(documents, string(document))
	}
	text := strings.ReplaceAll(strings.Join(documents, "---\n"), clusterName, "${NAMESPACE:=default}-${CLUSTER_NAME}")
	want := "    " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n    "), "    ")

	file := filepath.Join(root, "templates", "harvester", "cluster-template-rke2-generateCPI.yaml")
	template, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	before, got, found := strings.Cut(string(template), generated)
	g.Expect(found).To(BeTrue(), "the template has the line %q", generated)
	if *update {
		g.Expect(os.WriteFile(file, []byte(before+generated+want), 0o600)).To(Succeed())
		return
	}
	g.Expect(got).To(Equal(want), "run it with -update to write the chart's manifests")
}

// withoutRelease removes labels of a release that only Helm reads.
func withoutRelease(object *unstructured.Unstructured) {
	labels := object.GetLabels()
	for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"} {
		delete(labels, label)
	}
	object.SetLabels(labels)
}
