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

// The module prefix of this project, and the module whose types all providers embed.
const (
	ourModules   = "github.com/faultline-io/faultline/"
	sharedModule = ourModules + "shared/"
)

// Wire is an API version whose format is tested.
type Wire struct {
	Add     func(*runtime.Scheme) error
	Version schema.GroupVersion
	// Prefix is the prefix of the names of kinds.
	Prefix string
	// Folder contains an object of each kind.
	Folder string
	// Shared includes the types that all providers embed. It is enough to set it for one provider.
	Shared bool
	// NeverEmpty lists kinds that always have some field.
	NeverEmpty []string
}

// WireFormat tests the kinds of a version whose names have the prefix. The folder contains an object of each, with zero values
// where they have a meaning, because these are the first to get lost. It expects
//
//   - every field of the types to be in at least one of the objects;
//   - the same bytes when an object is encoded again;
//   - no fields in an empty object, because an encoded field cannot be distinguished from one that the user set; kinds in NeverEmpty
//     are skipped;
//   - conditions, if a kind has some, to be those of the status.
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
	missing, written := map[string]bool{}, map[string]bool{}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			object, err := scheme.New(wire.Version.WithKind(kind))
			gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
			if !slices.Contains(wire.NeverEmpty, kind) {
				staysEmpty(t, object)
			}
			keepsConditions(t, object.DeepCopyObject())
			file := filepath.Join(wire.Folder, strings.ToLower(kind)+".yaml")
			staysAsWritten(t, object, file)
			fieldsOf(reflect.TypeOf(object), missing)
			fieldsIn(reflect.TypeOf(object), document(t, file), written)
		})
	}
	maps.DeleteFunc(missing, func(field string, _ bool) bool {
		return written[field] || !wire.Shared && strings.HasPrefix(field, sharedModule)
	})
	g.Expect(strings.Join(slices.Sorted(maps.Keys(missing)), "\n")).To(gomega.BeEmpty(), "fields that no object in "+wire.Folder+" has")
}

// document reads an object as it is written.
func document(t *testing.T, file string) map[string]any {
	t.Helper()
	g, object := gomega.NewWithT(t), map[string]any{}
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(yaml.Unmarshal(data, &object)).To(gomega.Succeed())
	return object
}

// fieldsOf collects the fields of a type and of its components. A type of another module counts as one value.
func fieldsOf(kind reflect.Type, all map[string]bool) {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		fieldsOf(kind.Elem(), all)
	case reflect.Struct:
		for name, field := range ownFields(kind) {
			if known := all[name]; !known {
				all[name] = true
				fieldsOf(field.Type, all)
			}
		}
	}
}

// fieldsIn collects the fields that a written value of a type has.
func fieldsIn(kind reflect.Type, value any, all map[string]bool) {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if kind.Kind() == reflect.Slice {
				fieldsIn(kind.Elem(), element, all)
			}
		}
	case map[string]any:
		if kind.Kind() == reflect.Map {
			for _, element := range value {
				fieldsIn(kind.Elem(), element, all)
			}
			return
		}
		for name, field := range ownFields(kind) {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if inner, found := value[key]; found {
				all[name] = true
				fieldsIn(field.Type, inner, all)
			}
		}
	}
}

// ownFields returns the fields of a struct of this project, including embedded ones, as package.Type.field; none for other types.
func ownFields(kind reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	if kind.Kind() != reflect.Struct || !strings.HasPrefix(kind.PkgPath(), ourModules) {
		return fields
	}
	for i := range kind.NumField() {
		field := kind.Field(i)
		switch name, _, _ := strings.Cut(field.Tag.Get("json"), ","); {
		case name == "" && field.Anonymous:
			maps.Copy(fields, ownFields(field.Type))
		case name != "" && name != "-" && field.Type != reflect.TypeFor[metav1.ObjectMeta]():
			fields[kind.PkgPath()+"."+kind.Name()+"."+name] = field
		}
	}
	return fields
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
	data, err := json.Marshal(reflect.ValueOf(object).Elem().Interface()) // as a value, as in a list
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
