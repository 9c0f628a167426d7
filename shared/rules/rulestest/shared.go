// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Refusal is an object, and the fields that a webhook finds wrong in it; none when it takes it.
type Refusal struct {
	Name   string         `json:"name"`
	Fields []string       `json:"fields,omitempty"`
	Object map[string]any `json:"object"`
}

// Folder is where those find what the webhooks of a provider refuse who cannot ask them, seen from a folder of a package.
func Folder(root, provider string) string {
	return filepath.Join(root, "shared", "cmd", "kubectl-fd", "internal", "preflight", "testdata", "refused", provider)
}

// Shared wants the file of the test in a folder to say what the webhooks refuse. With UPDATE_REFUSED=1 it writes it.
func Shared(t *testing.T, folder string, refusals []Refusal) {
	t.Helper()
	g := gomega.NewWithT(t)
	slices.SortFunc(refusals, func(a, b Refusal) int { return strings.Compare(a.Name, b.Name) })
	lines := make([]string, len(refusals))
	for i := range refusals {
		slices.Sort(refusals[i].Fields)
		refusals[i].Fields = slices.Compact(refusals[i].Fields)
		line, err := json.Marshal(refusals[i])
		g.Expect(err).NotTo(gomega.HaveOccurred())
		lines[i] = string(line)
	}
	data := "[\n" + strings.Join(lines, ",\n") + "\n]\n"
	file := filepath.Join(folder, strings.ReplaceAll(t.Name(), "/", "_")+".json")
	if os.Getenv("UPDATE_REFUSED") != "" {
		g.Expect(os.MkdirAll(folder, 0o755)).To(gomega.Succeed())
		g.Expect(os.WriteFile(file, []byte(data), 0o600)).To(gomega.Succeed())
	}
	stored, err := os.ReadFile(file)
	g.Expect(err).NotTo(gomega.HaveOccurred(), "run the test with UPDATE_REFUSED=1")
	g.Expect(string(stored)).To(gomega.Equal(data), "kubectl fd preflight knows another rule: run the test with UPDATE_REFUSED=1, and its tests")
}

// NewRefusal is what a webhook finds wrong in an object, as Written has it.
func NewRefusal(name string, object map[string]any, errs field.ErrorList) Refusal {
	refusal := Refusal{Name: name, Object: object}
	for _, err := range errs {
		refusal.Fields = append(refusal.Fields, err.Field)
	}
	return refusal
}

// SharedCases is Shared for the cases of Run, which are about the spec of a kind.
func SharedCases[T any](t *testing.T, folder string, valid func() T, validate func(T, *field.Path) field.ErrorList, cases []Case[T]) {
	t.Helper()
	kind := strings.TrimSuffix(reflect.TypeFor[T]().Name(), "Spec")
	of := func(name string, spec T) Refusal {
		t.Helper()
		return NewRefusal(name, Written(t, kind, "m", spec), validate(spec, field.NewPath("spec")))
	}
	refusals := []Refusal{of("valid", valid())}
	for _, c := range cases {
		spec := valid()
		c.Change(&spec)
		refusals = append(refusals, of(c.Name, spec))
	}
	Shared(t, folder, refusals)
}

// Written is an object of the default namespace with a spec, as it is written.
func Written(t *testing.T, kind, called string, spec any) map[string]any {
	t.Helper()
	g := gomega.NewWithT(t)
	data, err := json.Marshal(spec)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	fields := map[string]any{}
	g.Expect(json.Unmarshal(data, &fields)).To(gomega.Succeed())
	return map[string]any{"kind": kind, "metadata": map[string]any{"name": called, "namespace": "default"}, "spec": fields}
}
