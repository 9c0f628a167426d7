// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/faultline-io/faultline/shared/conversion"
)

// writtenRounds is the number of random objects of each version of a kind that are written with zero values.
const writtenRounds = 20

// Webhook converts objects as the API server requests it.
type Webhook struct{ handler http.Handler }

// NewWebhook returns a Webhook for the kind of an object.
func NewWebhook(t *testing.T, scheme *runtime.Scheme, kind client.Object, constructor conversion.Constructor) Webhook {
	t.Helper()
	g := gomega.NewWithT(t)
	converter, err := constructor(scheme)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	gvk, err := apiutil.GVKForObject(kind, scheme)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	registry := ctrlconversion.NewRegistry()
	g.Expect(registry.RegisterConverter(gvk.GroupKind(), converter)).To(gomega.Succeed())
	return Webhook{handler: conversion.NewHandler(scheme, registry)}
}

// Convert converts an object to a version.
func (w Webhook) Convert(t *testing.T, object map[string]any, apiVersion string) map[string]any {
	t.Helper()
	g := gomega.NewWithT(t)
	raw, err := json.Marshal(object)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	body, err := json.Marshal(&apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
		UID: "review", DesiredAPIVersion: apiVersion, Objects: []runtime.RawExtension{{Raw: raw}},
	}})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/convert", bytes.NewReader(body)))
	review := &apiextensionsv1.ConversionReview{}
	g.Expect(json.Unmarshal(recorder.Body.Bytes(), review)).To(gomega.Succeed())
	g.Expect(review.Response.Result.Status).To(gomega.Equal(metav1.StatusSuccess), review.Response.Result.Message)
	g.Expect(review.Response.ConvertedObjects).To(gomega.HaveLen(1))
	return decoded(t, review.Response.ConvertedObjects[0].Raw)
}

// asWritten creates random objects of a version with zero values that its types omit, as in manifests, and expects them unchanged
// after a conversion to the other version and back.
func asWritten[A, B any, from object[A], to object[B]](t *testing.T, scheme *runtime.Scheme, webhook Webhook, fill func(any)) {
	t.Helper()
	g := gomega.NewWithT(t)
	version := func(kind client.Object) string {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		kind.GetObjectKind().SetGroupVersionKind(gvk)
		return gvk.GroupVersion().String()
	}
	other := version(to(new(B)))
	random := rand.New(rand.NewPCG(1, 2))
	for range writtenRounds {
		object := from(new(A))
		fill(object)
		object.SetAnnotations(nil)
		is := version(object)
		data, err := json.Marshal(object)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		written := decoded(t, data)
		for i := range reflect.TypeFor[A]().NumField() {
			if field := reflect.TypeFor[A]().Field(i); field.Name == "Spec" || field.Name == "Status" {
				name := strings.ToLower(field.Name)
				if written[name] == nil {
					written[name] = map[string]any{}
				}
				addZeros(field.Type, written[name], random)
			}
		}
		got := webhook.Convert(t, webhook.Convert(t, written, other), is)
		for _, section := range []string{"spec", "status"} {
			g.Expect(cmp.Diff(written[section], asIn(written[section], got[section]))).To(gomega.BeEmpty(), is)
		}
	}
}

// asIn returns the part of got that written has: types may add fields.
func asIn(written, got any) any {
	switch written := written.(type) {
	case map[string]any:
		fields, isStruct := got.(map[string]any)
		if !isStruct {
			return got
		}
		there := map[string]any{}
		for name, value := range written {
			if field, found := fields[name]; found {
				there[name] = asIn(value, field)
			}
		}
		return there
	case []any:
		list, isList := got.([]any)
		if !isList || len(list) != len(written) {
			return got
		}
		there := []any{}
		for i, value := range written {
			there = append(there, asIn(value, list[i]))
		}
		return there
	default:
		return got
	}
}

// addZeros adds omitted zero values to the written form of a value, with a probability of one half each.
func addZeros(kind reflect.Type, value any, random *rand.Rand) {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if custom(kind) { // It may be written in any form, such as a JSON list.
		return
	}
	switch value := value.(type) {
	case map[string]any:
		switch kind.Kind() {
		case reflect.Struct:
			addZeroFields(kind, value, random)
		case reflect.Map:
			for name := range value {
				addZeros(kind.Elem(), value[name], random)
			}
		}
	case []any:
		for i := range value {
			addZeros(kind.Elem(), value[i], random)
		}
	}
}

func addZeroFields(kind reflect.Type, fields map[string]any, random *rand.Rand) {
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			addZeros(field.Type, fields, random)
		case name == "" || name == "-":
		case fields[name] != nil:
			addZeros(field.Type, fields[name], random)
		default:
			delete(fields, name) // The API server drops null.
			if zero, has := zeroOf(field.Type); has && random.IntN(2) == 0 {
				fields[name] = zero
			}
		}
	}
}

// zeroOf returns the written form of the zero value of a type.
func zeroOf(kind reflect.Type) (zero any, has bool) {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case kind == reflect.TypeFor[metav1.Duration]():
		return "0s", true
	case custom(kind):
		return nil, false
	}
	switch kind.Kind() {
	case reflect.String:
		return "", true
	case reflect.Bool:
		return false, true
	case reflect.Int, reflect.Int32, reflect.Int64:
		return json.Number("0"), true
	case reflect.Struct, reflect.Map:
		return map[string]any{}, true
	case reflect.Slice:
		return []any{}, kind.Elem().Kind() != reflect.Uint8
	default:
		return nil, false
	}
}

// custom reports whether a type has its own JSON encoding.
func custom(kind reflect.Type) bool {
	return reflect.PointerTo(kind).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// decoded decodes an object and keeps numbers as they are written.
func decoded(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	gomega.NewWithT(t).Expect(decoder.Decode(&object)).To(gomega.Succeed())
	return object
}
