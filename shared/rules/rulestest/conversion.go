// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/conversion"
)

// Conversion is a kind: how it is converted, and how its converter is made.
type Conversion[hub, spoke client.Object] struct {
	Scheme      *runtime.Scheme
	FromHub     func(context.Context, hub, spoke) error
	ToHub       func(context.Context, spoke, hub) error
	Constructor conversion.Constructor
	// Normal are functions that make what was filled at random into what a version can say.
	Normal []any
}

// RoundTrips makes thousands of random objects of each version, converts them to the other and back, and wants the same.
// Zero values that types leave out have to come back, too.
func RoundTrips[H, S any, hub object[H], spoke object[S]](c Conversion[hub, spoke]) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		_, err := c.Constructor(c.Scheme)
		gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
		normal := func(runtimeserializer.CodecFactory) []any { return c.Normal }
		utilconversion.SpokeConverterFuzzTestFunc(utilconversion.SpokeConverterFuzzTestFuncInput[hub, spoke]{
			Scheme: c.Scheme, ConvertHubToSpokeFunc: c.FromHub, ConvertSpokeToHubFunc: c.ToHub, FuzzerFuncs: []fuzzer.FuzzerFuncs{normal},
		})(t)
		fill, webhook := utilconversion.GetFuzzer(c.Scheme, normal).Fill, NewWebhook(t, c.Scheme, hub(new(H)), c.Constructor)
		asWritten[H, S, hub, spoke](t, c.Scheme, webhook, fill)
		asWritten[S, H, spoke, hub](t, c.Scheme, webhook, fill)
	}
}

// SurvivesBadAnnotations wants a spoke to be converted whatever somebody has put into its annotation: as what it says. The function
// returns the hub of a spoke with that annotation.
func SurvivesBadAnnotations[hub client.Object](t *testing.T, want hub, toHub func(annotations map[string]string) (hub, error)) {
	t.Helper()
	for name, text := range map[string]string{
		"not JSON": "{", "empty": "", "another type": "[1]", "null": "null", "no fields": "{}", "a field of another type": `{"spec":"text","status":7}`,
		"fields nobody knows": `{"spec":{"unknown":true},"kind":"Other"}`,
	} {
		g := gomega.NewWithT(t)
		got, err := toHub(map[string]string{utilconversion.DataAnnotation: text, "other": "stays"})
		g.Expect(err).NotTo(gomega.HaveOccurred(), name)
		g.Expect(got.GetAnnotations()).To(gomega.Equal(map[string]string{"other": "stays"}), name)
		got.SetAnnotations(nil)
		g.Expect(got).To(gomega.Equal(want), name)
	}
}
