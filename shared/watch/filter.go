// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/labels"
)

// Filter is the value of the --watch-filter flag.
type Filter string

// Passes reports whether this manager is responsible for the object. Without a filter it is responsible for every object.
// Reconcilers must check it too, because an event of another object or of vCenter, which has no label, can enqueue an object.
func (f Filter) Passes(o metav1.Object) bool {
	return f == "" || labels.HasWatchLabel(o, string(f))
}
