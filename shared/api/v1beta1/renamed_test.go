// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestKeysUnderFormerNamesAreReadAndRenamedUnlessUsersSetThem(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key     string
		set     map[string]string
		value   string
		renamed map[string]string
	}{
		"a former name": {
			key: faultlinev1.CurrentMoveAnnotation, set: map[string]string{"infrastructure.cluster.x-k8s.io/current-move": "one", "other": "two"},
			value: "one", renamed: map[string]string{"faultline.io/current-move": "one", "other": "two"},
		},
		"both names": {
			key: faultlinev1.MarkedForMoveAnnotation, set: map[string]string{"infrastructure.cluster.x-k8s.io/marked-for-move": "old", "faultline.io/marked-for-move": "new"},
			value: "new", renamed: map[string]string{"faultline.io/marked-for-move": "new"},
		},
		"both names, and the new one is empty": {
			key: faultlinev1.ScaledByAnnotation, set: map[string]string{"infrastructure.cluster.x-k8s.io/scaled-by": "old", "faultline.io/scaled-by": ""},
			value: "", renamed: map[string]string{"infrastructure.cluster.x-k8s.io/scaled-by": "old", "faultline.io/scaled-by": ""},
		},
		"a former name that users set": {
			key: faultlinev1.AllowedNamespacesAnnotation, set: map[string]string{"infrastructure.cluster.x-k8s.io/allowed-namespaces": "one"},
			value: "one", renamed: map[string]string{"infrastructure.cluster.x-k8s.io/allowed-namespaces": "one"},
		},
		"upstream's name": {
			key: faultlinev1.FailureDomainAnnotation, set: map[string]string{"infrastructure.cluster.x-k8s.io/failure-domain": "rack-1", "": "x"},
			value: "rack-1", renamed: map[string]string{"infrastructure.cluster.x-k8s.io/failure-domain": "rack-1", "": "x"},
		},
		"a name that did not move and is not set": {key: faultlinev1.FailureDomainAnnotation, set: map[string]string{"": "x"}, renamed: map[string]string{"": "x"}},
		"nothing": {key: faultlinev1.CurrentMoveAnnotation},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if value := faultlinev1.Value(test.set, test.key); value != test.value {
				t.Errorf("got %q, want %q", value, test.value)
			}
			object := &metav1.ObjectMeta{Annotations: test.set}
			faultlinev1.Rename(object)
			faultlinev1.Rename(object)
			if !maps.Equal(object.Annotations, test.renamed) {
				t.Errorf("got %v, want %v", object.Annotations, test.renamed)
			}
		})
	}
}
