// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/shared/cmd/kubectl-fd/internal/preflight"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// oursAlone are fields that upstream does not have, so that no object of upstream's has them.
var oursAlone = regexp.MustCompile(`^spec\.(distribution|failureDomainTopologyKey|failureDomainDataTemplates)\b`)

// placeholder is an address that documentation leaves to the reader.
var placeholder = regexp.MustCompile(`\b(XX|YY|ZZ):(XX|YY|ZZ)\b`)

// The tests of the webhooks write down what these refuse of the specs of all kinds. The same is said here of it, neither more nor less.
func TestWhatTheWebhooksRefuseIsSaid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"metal3", "harvester", "harvester-load-balancer"} {
		files, err := filepath.Glob(filepath.Join("testdata", "refused", name, "*.json"))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			for _, refusal := range refusals(t, file) {
				if refusal.Name == "nothing at all" {
					continue // is right in a template; what an object needs is in TestWhatIsRefusedOfObjectsIsShared.json
				}
				t.Run(name+"/"+refusal.Name, func(t *testing.T) {
					t.Parallel()
					g, object := NewWithT(t), unstructured.Unstructured{Object: refusal.Object}
					findings := preflight.Examine(provider(t, name), preflight.Installation{
						Objects: map[string][]unstructured.Unstructured{object.GetKind(): {object}},
					})
					want := slices.DeleteFunc(slices.Clone(refusal.Fields), func(field string) bool {
						return oursAlone.MatchString(field) || object.GetKind() == "HarvesterCluster" && strings.HasPrefix(field, "spec.failureDomains")
					})
					g.Expect(fieldsOf(findings)).To(ConsistOf(want), "%+v", findings)
				})
			}
		}
	}
}

func refusals(t *testing.T, file string) []rulestest.Refusal {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var all []rulestest.Refusal
	g.Expect(json.Unmarshal(text, &all)).To(Succeed())
	return all
}

// fieldsOf are the fields of what would be refused.
func fieldsOf(findings []preflight.Finding) []string {
	var fields []string
	for _, f := range findings {
		if f.Rule == "Refused" || strings.Contains(f.Message, "can be no label") {
			fields = append(fields, f.Field)
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// A template that machines are made from is worse than one that nobody uses, and than an object that is there.
func TestATemplateInUseStops(t *testing.T) {
	t.Parallel()
	const text = `
objects:
- kind: Metal3Machine
  metadata: {name: m, namespace: default, annotations: {cluster.x-k8s.io/cloned-from-name: used}}
  spec: {image: {url: node.qcow2, checksum: abc}}
- kind: Metal3MachineTemplate
  metadata: {name: used, namespace: default}
  spec: {template: {spec: {image: {url: node.qcow2, checksum: abc}}}}
- kind: Metal3MachineTemplate
  metadata: {name: used, namespace: elsewhere}
  spec: {template: {spec: {image: {url: node.qcow2, checksum: abc}}}}
`
	g, of := NewWithT(t), map[string]preflight.Finding{}
	for _, f := range preflight.Examine(provider(t, "metal3"), installation(t, text)) {
		if f.Rule == "Refused" {
			of[f.Kind+" "+f.Namespace] = f
		}
	}
	g.Expect(of).To(HaveLen(3))
	g.Expect(of["Metal3MachineTemplate default"]).To(And(HaveField("Verdict", preflight.Stops), HaveField("Field", "spec.template.spec.image.url"),
		HaveField("Message", ContainSubstring("no further Metal3Machine can be made from it"))))
	g.Expect(of["Metal3MachineTemplate elsewhere"]).To(HaveField("Verdict", preflight.Check))
	g.Expect(of["Metal3Machine default"]).To(And(HaveField("Verdict", preflight.Check), HaveField("Message", ContainSubstring("cannot be created again"))))
}

// What upstream ships and documents is taken, so nothing is said of it; and what its own load balancer refuses is said.
func TestUpstreamsOwnManifestsAreTaken(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..", "..", "..", "shared", "upstream")
	if _, err := os.Stat(root); err != nil {
		t.Skip("../shared/upstream is not beside the project")
	}
	for name, pattern := range map[string]string{"metal3": "metal3/v1beta*/*.yaml", "harvester": "harvester/manifests/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				in := preflight.Installation{Objects: map[string][]unstructured.Unstructured{}}
				for _, manifest := range rulestest.Manifests(t, file) {
					in.Objects[manifest.GetKind()] = append(in.Objects[manifest.GetKind()], *manifest)
				}
				for _, finding := range preflight.Examine(provider(t, name), in) {
					if strings.Contains(finding.Message, "has to be the namespace of this object") || placeholder.MatchString(finding.Message) {
						continue // all of them have been put into one namespace, and documentation leaves addresses to the reader
					}
					NewWithT(t).Expect(finding.Rule).NotTo(Equal("Refused"), "%+v", finding)
				}
			})
		}
	}
}
