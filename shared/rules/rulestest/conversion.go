// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/conversion"
)

// Keeping returns a test that creates random objects of each version, converts them to the other and back as conversion.Keeping
// does, and expects no changes: some objects of each version, in the full tier without the race detector 10,000 as Cluster API does.
// The normal functions reduce random objects to what their version can express.
func Keeping[H, S any, hub object[H], spoke object[S]](scheme *runtime.Scheme, fromHub func(hub, spoke), toHub func(src spoke, dst, kept hub),
	normal ...any,
) func(*testing.T) {
	from, to := conversion.Keeping(fromHub, toHub)
	return func(t *testing.T) {
		t.Helper()
		normal := func(runtimeserializer.CodecFactory) []any { return normal }
		if exhaustive {
			utilconversion.SpokeConverterFuzzTestFunc(utilconversion.SpokeConverterFuzzTestFuncInput[hub, spoke]{
				Scheme: scheme, ConvertHubToSpokeFunc: from, ConvertSpokeToHubFunc: to, FuzzerFuncs: []fuzzer.FuzzerFuncs{normal},
			})(t)
		}
		fill, webhook := utilconversion.GetFuzzer(scheme, normal).Fill, NewWebhook(t, scheme, hub(new(H)), conversion.KeepingPair(fromHub, toHub))
		asWritten[H, S, hub, spoke](t, scheme, webhook, fill)
		asWritten[S, H, spoke, hub](t, scheme, webhook, fill)
	}
}

// SurvivesBadAnnotations expects a spoke to be converted by its own fields, whatever its annotation contains. toHub returns the
// hub of a spoke with the given annotations.
func SurvivesBadAnnotations[hub client.Object](t *testing.T, want hub, toHub func(annotations map[string]string) (hub, error)) {
	t.Helper()
	for name, text := range map[string]string{
		"not JSON": "{", "empty": "", "another type": "[1]", "null": "null", "no fields": "{}", "a field of another type": `{"spec":"text","status":7}`,
		"unknown fields": `{"spec":{"unknown":true},"kind":"Other"}`,
	} {
		g := gomega.NewWithT(t)
		got, err := toHub(map[string]string{utilconversion.DataAnnotation: text, "other": "stays"})
		g.Expect(err).NotTo(gomega.HaveOccurred(), name)
		g.Expect(got.GetAnnotations()).To(gomega.Equal(map[string]string{"other": "stays"}), name)
		got.SetAnnotations(nil)
		g.Expect(got).To(gomega.Equal(want), name)
	}
}
