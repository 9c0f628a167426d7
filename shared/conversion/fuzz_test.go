// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
)

// An annotation that anybody may write is taken off, and keeps nobody from reading the object.
func FuzzKept(f *testing.F) {
	f.Add(`{"metadata":{"name":"a"},"data":{"a":"b"}}`)
	f.Add(`{"data":[]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, annotation string) {
		spoke := &corev1.ConfigMap{}
		spoke.Annotations = map[string]string{utilconversion.DataAnnotation: annotation, "mine": "stays"}
		kept := Kept[corev1.ConfigMap](t.Context(), spoke)
		if kept == nil || len(spoke.Annotations) != 1 || spoke.Annotations["mine"] != "stays" {
			t.Fatalf("%q: %v is left, %v was kept", annotation, spoke.Annotations, kept)
		}
		written, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		spoke.Annotations[utilconversion.DataAnnotation] = string(written)
		again, err := json.Marshal(Kept[corev1.ConfigMap](t.Context(), spoke))
		if err != nil || !bytes.Equal(again, written) {
			t.Fatalf("%s became %s: %v", written, again, err)
		}
	})
}
