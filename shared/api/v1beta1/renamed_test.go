// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestEachNameThatMovedIsReadUnderItsFormerNameAndRenamedUnlessUsersSetIt(t *testing.T) {
	t.Parallel()
	const former = "infrastructure.cluster.x-k8s.io/"
	for name, test := range map[string]struct {
		former  string
		byUsers bool
	}{
		"assigned-failure-domain": {former: former + "assigned-failure-domain"},
		"current-move":            {former: former + "current-move"},
		"marked-for-move":         {former: former + "marked-for-move"},
		"labels-from-machine":     {former: former + "labels-from-machine"},
		"distribution-class":      {former: former + "distribution-class", byUsers: true},
		"scaled-by":               {former: former + "scaled-by", byUsers: true},
		"allowed-namespaces":      {former: former + "allowed-namespaces", byUsers: true},
		"machine-failed":          {former: former + "machine-failed"},
		"creating-cluster-module": {former: "vspherecluster." + former + "creating-cluster-module"},
		"thumbprint":              {former: "vspheremachine." + former + "thumbprint"},
		"metadata-hash":           {former: "vspherevm." + former + "metadata-hash"},
		"abandon-configured":      {former: former + "abandon-configured", byUsers: true},
		"abandon-virtual-machine": {former: former + "abandon-virtual-machine", byUsers: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &metav1.ObjectMeta{Annotations: map[string]string{test.former: "one"}}
			if value := faultlinev1.Value(object.Annotations, "faultline.io/"+name); value != "one" {
				t.Errorf("got %q", value)
			}
			want := map[string]string{"faultline.io/" + name: "one"}
			if test.byUsers {
				want = map[string]string{test.former: "one"}
			}
			if faultlinev1.Rename(object); !maps.Equal(object.Annotations, want) {
				t.Errorf("got %v, want %v", object.Annotations, want)
			}
		})
	}
}

func TestLabelsOfOtherObjectsAreNotRenamed(t *testing.T) {
	t.Parallel()
	object := &metav1.ObjectMeta{Labels: map[string]string{
		"infrastructure.cluster.x-k8s.io/distribution-key": "one", "infrastructure.cluster.x-k8s.io/harvester-machine-id": "two",
	}}
	want := map[string]string{"faultline.io/distribution-key": "one", "infrastructure.cluster.x-k8s.io/harvester-machine-id": "two"}
	if faultlinev1.Rename(object); !maps.Equal(object.Labels, want) {
		t.Errorf("got %v, want %v", object.Labels, want)
	}
}

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
