// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
)

// The annotation can be written by any client. It is removed, and never prevents the object from being read.
func FuzzKept(f *testing.F) {
	f.Add(`{"metadata":{"name":"a"},"data":{"a":"b"}}`)
	f.Add(`{"data":[]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, annotation string) {
		spoke := &corev1.ConfigMap{}
		spoke.Annotations = map[string]string{utilconversion.DataAnnotation: annotation, "mine": "stays"}
		found := kept[corev1.ConfigMap](t.Context(), spoke)
		if found == nil || len(spoke.Annotations) != 1 || spoke.Annotations["mine"] != "stays" {
			t.Fatalf("%q: %v is left, %v was kept", annotation, spoke.Annotations, found)
		}
		written, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		spoke.Annotations[utilconversion.DataAnnotation] = string(written)
		again, err := json.Marshal(kept[corev1.ConfigMap](t.Context(), spoke))
		if err != nil || !bytes.Equal(again, written) {
			t.Fatalf("%s became %s: %v", written, again, err)
		}
	})
}

// Zero values in an annotation written by any client add only zero values, and change neither type nor metadata.
func FuzzZeroValues(f *testing.F) {
	f.Add(`{"/data":{},"/data/a~1b":"","/list/0/a":0}`)
	f.Add(`{"/metadata/name":"","":[],"/list/-1/a":null}`)
	f.Add(`{"/list/0/deep/~0":0e9,"/spec/a":"0s"}`)
	f.Fuzz(func(t *testing.T, annotation string) {
		const written = `{"apiVersion":"v1","kind":"A","list":[{"a":1},[]],"metadata":{"name":"a"},"spec":{"text":"b"}}`
		var object, before map[string]any
		if err := errors.Join(unmarshal([]byte(written), &object), unmarshal([]byte(written), &before)); err != nil {
			t.Fatal(err)
		}
		values := zeroValues(annotation)
		for _, pointer := range slices.Sorted(maps.Keys(values)) {
			put(object, pointer, values[pointer], missing)
		}
		added := map[string]any{}
		for name, value := range object {
			collectZeros("/"+escape(name), value, before[name], added)
		}
		for _, pointer := range slices.Sorted(maps.Keys(added)) {
			put(before, pointer, added[pointer], missing)
		}
		if !reflect.DeepEqual(object, before) || !reflect.DeepEqual(object["metadata"], map[string]any{"name": "a"}) {
			t.Fatalf("%q made %v", annotation, object)
		}
	})
}
