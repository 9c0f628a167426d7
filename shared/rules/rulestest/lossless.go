// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/faultline-io/faultline/shared/conversion"
)

// object is a pointer to a kind.
type object[T any] interface {
	*T
	client.Object
	metav1.ObjectMetaAccessor
}

// Lossless returns a test that creates random objects of each version, converts them to the other and back as conversion.Lossless
// does, and expects the same objects, including zero values that types omit. The random functions fill fields that cannot have
// every value.
func Lossless[H, S any, hub object[H], spoke object[S]](scheme *runtime.Scheme, annotation string, fromHub func(hub, spoke), toHub func(spoke, hub),
	random ...any,
) func(*testing.T) {
	from, to := conversion.Lossless(annotation, fromHub, toHub)
	return func(t *testing.T) {
		t.Helper()
		fill := utilconversion.GetFuzzer(scheme, func(runtimeserializer.CodecFactory) []any { return append(random, anyTime, anyJSON) }).Fill
		for range rounds {
			thereAndBack(t, fill, from, to)
		}
		for range rounds {
			thereAndBack(t, fill, to, from)
		}
		webhook := NewWebhook(t, scheme, hub(new(H)), conversion.LosslessPair(annotation, fromHub, toHub))
		asWritten[H, S, hub, spoke](t, scheme, webhook, fill)
		asWritten[S, H, spoke, hub](t, scheme, webhook, fill)
	}
}

func thereAndBack[A, B any, from object[A], to object[B]](t *testing.T, fill func(any), there func(context.Context, from, to) error,
	back func(context.Context, to, from) error,
) {
	t.Helper()
	g := gomega.NewWithT(t)
	before, between, after := from(new(A)), to(new(B)), from(new(A))
	fill(before)
	g.Expect(there(t.Context(), received(t, before), between)).To(gomega.Succeed())
	g.Expect(back(t.Context(), received(t, between), after)).To(gomega.Succeed())
	g.Expect(equality.Semantic.DeepEqual(before, after)).To(gomega.BeTrue(), func() string { return cmp.Diff(before, after) })
}

// received returns the object after encoding to JSON and decoding, like every object that the API server has converted: nil and
// empty only differ if they differ in JSON.
func received[T any, kind object[T]](t *testing.T, sent kind) kind {
	t.Helper()
	g := gomega.NewWithT(t)
	data, err := json.Marshal(sent)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	got := kind(new(T))
	g.Expect(json.Unmarshal(data, got)).To(gomega.Succeed())
	return got
}

// anyTime creates times that JSON can express, in seconds.
func anyTime(value **metav1.Time, c randfill.Continue) {
	if c.Bool() {
		*value = &metav1.Time{Time: metav1.Unix(int64(c.Uint32()), 0).Rfc3339Copy().Time}
	}
}

// anyJSON creates JSON values.
func anyJSON(value *apiextensionsv1.JSON, c randfill.Continue) {
	values := []string{"\"text\"", "1", "1.0", "true", "[1,\"a\"]", "{\"a\":{\"b\":null}}"}
	value.Raw = []byte(values[c.Intn(len(values))])
}
