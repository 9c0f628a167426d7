// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/faultline-io/faultline/shared/provider"
)

// LabelSource provides Node labels that are specific to one provider, such as those of a host.
type LabelSource interface {
	// Labels returns the labels for the Node of an infrastructure machine. nil means that they are currently unknown: the Node is
	// then not changed, and one of Watches must enqueue the machine later.
	Labels(ctx context.Context, cluster provider.Cluster, machine client.Object) (*Labels, error)
	// Watches returns further objects on which the labels depend.
	Watches() []LabelWatch
}

// Labels holds labels that are set regardless of a Node's own.
type Labels struct {
	Set labels.Set
	// Owned reports whether a label that is not in Set is removed even if another client has set it. Labels that came from Set
	// are always removed; nil removes no others.
	Owned func(key string) bool
}

// LabelWatch configures the watch of one kind of object in the management cluster on which labels depend.
type LabelWatch struct {
	Object client.Object
	// Machines maps an object to the infrastructure machines to enqueue.
	Machines handler.MapFunc
	// Changed is the predicate for relevant events.
	Changed predicate.Predicate
}
