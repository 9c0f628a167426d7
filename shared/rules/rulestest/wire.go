// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Wire is a version of an API whose format is tested.
type Wire struct {
	Add     func(*runtime.Scheme) error
	Version schema.GroupVersion
	// Prefix is that of the names of kinds.
	Prefix string
	// Folder has an object of each kind.
	Folder string
	// NeverEmpty are kinds that always have some field.
	NeverEmpty []string
}

// WireFormat tests the kinds of a version whose names have the prefix. For each there is an object in the folder; together
// they have every field of the types, with zero values where those mean something, because they are the first to get lost. It
// wants
//
//   - the same bytes when an object is written again;
//   - nothing in an object that nobody put there, as what is written out cannot be told from what the user said; kinds that are
//     never empty are left out;
//   - conditions, where a kind has some, to be those of the status.
func WireFormat(t *testing.T, wire Wire) {
	t.Helper()
	scheme := runtime.NewScheme()
	g := gomega.NewWithT(t)
	g.Expect(wire.Add(scheme)).To(gomega.Succeed())
	kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(scheme.KnownTypes(wire.Version))), func(kind string) bool {
		return !strings.HasPrefix(kind, wire.Prefix) || strings.HasSuffix(kind, "List")
	})
	files, err := filepath.Glob(filepath.Join(wire.Folder, "*.yaml"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(files).To(gomega.HaveLen(len(kinds)))
	g.Expect(kinds).NotTo(gomega.BeEmpty())
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			object, err := scheme.New(wire.Version.WithKind(kind))
			gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
			if !slices.Contains(wire.NeverEmpty, kind) {
				staysEmpty(t, object)
			}
			keepsConditions(t, object.DeepCopyObject())
			staysAsWritten(t, object, filepath.Join(wire.Folder, strings.ToLower(kind)+".yaml"))
		})
	}
}

func staysAsWritten(t *testing.T, object runtime.Object, file string) {
	t.Helper()
	g := gomega.NewWithT(t)
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(data, object)).To(gomega.Succeed(), "a field that the type does not have")
	written, err := json.Marshal(object)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	want, err := yaml.YAMLToJSON(data)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(written).To(gomega.MatchJSON(want), "a field that is lost or changed")
}

func staysEmpty(t *testing.T, object runtime.Object) {
	t.Helper()
	g := gomega.NewWithT(t)
	data, err := json.Marshal(reflect.ValueOf(object).Elem().Interface()) // as a value, such as it is in a list
	g.Expect(err).NotTo(gomega.HaveOccurred())
	var fields map[string]any
	g.Expect(json.Unmarshal(data, &fields)).To(gomega.Succeed())
	g.Expect(slices.Collect(maps.Keys(fields))).To(gomega.ConsistOf("metadata"))
}

func keepsConditions(t *testing.T, object runtime.Object) {
	t.Helper()
	conditioned, ok := object.(interface {
		GetConditions() []metav1.Condition
		SetConditions(conditions []metav1.Condition)
	})
	if !ok {
		return
	}
	g := gomega.NewWithT(t)
	conditions := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	conditioned.SetConditions(conditions)
	g.Expect(conditioned.GetConditions()).To(gomega.Equal(conditions))
	g.Expect(json.Marshal(object)).To(gomega.ContainSubstring(`"conditions":[{"type":"Ready"`))
}
