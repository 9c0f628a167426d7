// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/labels"
)

// Filter is the value of the flag --watch-filter.
type Filter string

// Passes reports whether the object is this manager's. Without a filter every object is. A reconcile asks, because an
// object can be named by an event of another one or of a vCenter, which carry no label.
func (f Filter) Passes(o metav1.Object) bool {
	return f == "" || labels.HasWatchLabel(o, string(f))
}
