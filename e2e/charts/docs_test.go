// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var manifest = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

func TestDocumentedValuesAreAccepted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	api := newCluster(t)
	// Only the CRDs: no webhook responds here.
	_, err := api.install(t, namespace, "definitions", made(t, "definitions", definitions(t)), nil)
	g.Expect(err).NotTo(HaveOccurred())
	api.makePool(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "harvester-load-balancer.md"))
	g.Expect(err).NotTo(HaveOccurred())
	shown := manifest.FindAllStringSubmatch(string(page), -1)
	g.Expect(len(shown)).To(BeNumerically(">", 3))
	strict := client.WithFieldValidation(client.NewDryRunClient(api.Client), metav1.FieldValidationStrict)
	for _, text := range shown {
		all, err := objects(text[1])
		g.Expect(err).NotTo(HaveOccurred())
		for _, object := range all {
			if object.GetNamespace() == "" && object.GetKind() == "Service" {
				object.SetNamespace(metav1.NamespaceDefault)
			}
			g.Eventually(func() error { return strict.Create(t.Context(), object.DeepCopy()) }, timeout).Should(Succeed(), text[1])
		}
	}
}
