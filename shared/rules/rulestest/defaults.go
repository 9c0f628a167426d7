// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Path elements that stand for an element of a list and for a value of a map.
const (
	anElement = "[]"
	aValue    = "{}"
)

// zerosOutliveDefaults expects the types of all kinds in these versions to keep zero values where their CRD has another default,
// in any list or map. If a type omits the zero value when an object is converted, the API server fills in the default, which has
// another meaning.
func (a *APIServer) zerosOutliveDefaults(t *testing.T, versions ...schema.GroupVersion) {
	t.Helper()
	g := gomega.NewWithT(t)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	g.Expect(a.List(t.Context(), list)).To(gomega.Succeed())
	g.Expect(list.Items).NotTo(gomega.BeEmpty())
	for _, item := range list.Items {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, crd)).To(gomega.Succeed())
		for _, version := range crd.Spec.Versions {
			kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			if !slices.Contains(versions, kind.GroupVersion()) {
				continue
			}
			eachZero(version.Schema.OpenAPIV3Schema, nil, func(path []string, zero any) {
				typed, err := a.Scheme().New(kind)
				g.Expect(err).NotTo(gomega.HaveOccurred())
				data, err := json.Marshal(put(path, zero))
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(json.Unmarshal(data, typed)).To(gomega.Succeed())
				data, err = json.Marshal(typed)
				g.Expect(err).NotTo(gomega.HaveOccurred())
				var again any
				g.Expect(json.Unmarshal(data, &again)).To(gomega.Succeed())
				g.Expect(found(again, path)).To(gomega.Equal(zero), "%s: %s has a default, so that its Go type has to keep a zero value: make it a pointer",
					kind, strings.Join(path, "."))
			})
		}
	}
}

// eachZero calls then for each field with a default that differs from its zero value, if the zero value is allowed.
func eachZero(of *apiextensionsv1.JSONSchemaProps, path []string, then func(path []string, zero any)) {
	if zero, may := zeroOfSchema(of); may {
		then(path, zero)
	}
	for name := range of.Properties {
		eachZero(ptr.To(of.Properties[name]), append(slices.Clone(path), name), then)
	}
	if of.Items != nil && of.Items.Schema != nil {
		eachZero(of.Items.Schema, append(slices.Clone(path), anElement), then)
	}
	if of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		eachZero(of.AdditionalProperties.Schema, append(slices.Clone(path), aValue), then)
	}
}

// zeroOfSchema returns the zero value of a field, and whether it is allowed and differs from the default.
func zeroOfSchema(of *apiextensionsv1.JSONSchemaProps) (zero any, may bool) {
	switch of.Type {
	case "integer", "number":
		zero, may = 0.0, (of.Minimum == nil || *of.Minimum <= 0)
	case "boolean":
		zero, may = false, true
	case "string":
		matches, err := regexp.MatchString(of.Pattern, "")
		zero, may = "", ptr.Deref(of.MinLength, 0) == 0 && matches && err == nil
	}
	written, err := json.Marshal(zero)
	isZero := func(value apiextensionsv1.JSON) bool { return string(value.Raw) == string(written) }
	may = may && err == nil && of.Default != nil && !isZero(*of.Default) && (len(of.Enum) == 0 || slices.ContainsFunc(of.Enum, isZero))
	return zero, may
}

// put returns an object that only has a value at a path.
func put(path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == anElement {
		return []any{put(path[1:], value)}
	}
	return map[string]any{path[0]: put(path[1:], value)}
}

// found returns the value of an object at a path; nil if none exists.
func found(in any, path []string) any {
	if len(path) == 0 {
		return in
	}
	switch in := in.(type) {
	case []any:
		if len(in) == 1 && path[0] == anElement {
			return found(in[0], path[1:])
		}
	case map[string]any:
		return found(in[path[0]], path[1:])
	}
	return nil
}
