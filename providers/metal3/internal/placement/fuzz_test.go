// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Every prefix of the annotation is accepted or refused, and an accepted one is a valid prefix of a label name.
func FuzzPrefixes(f *testing.F) {
	f.Add("example.com, topology.kubernetes.io,kubernetes.io")
	f.Add(",,a..b, A.example.com")
	f.Fuzz(func(t *testing.T, annotation string) {
		accepted, refused := LabelPrefixes(annotation)
		if len(accepted)+len(refused) > strings.Count(annotation, ",")+1 {
			t.Fatalf("%q became %q and %q", annotation, accepted, refused)
		}
		host := map[string]string{}
		for _, prefix := range accepted {
			if len(validation.IsQualifiedName(prefix+"/key")) > 0 {
				t.Fatalf("%q is accepted", prefix)
			}
			host[prefix+"/key"] = "value"
		}
		if reserved := ReservedLabels(host); len(reserved) > 0 {
			t.Fatalf("%q are accepted, and reserved", reserved)
		}
		if again, none := LabelPrefixes(strings.Join(accepted, ",")); !slices.Equal(again, accepted) || len(none) > 0 {
			t.Fatalf("%q became %q and %q", accepted, again, none)
		}
	})
}
