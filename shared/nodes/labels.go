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

// LabelSource knows labels of Nodes that only one provider has, such as those of a host.
type LabelSource interface {
	// Labels are those of the Node of an infrastructure machine. nil means that they are not known now: then the Node stays as it
	// is, and one of Watches brings the machine back.
	Labels(ctx context.Context, cluster provider.Cluster, machine client.Object) (*Labels, error)
	// Watches are what else the labels depend on.
	Watches() []LabelWatch
}

// Labels are labels that a Node gets whatever it has.
type Labels struct {
	Set labels.Set
	// Owned reports whether a label that is not in Set is removed, whoever has set it. What came from Set is removed anyway; nil is
	// for nothing else.
	Owned func(key string) bool
}

// LabelWatch is one kind of object in the management cluster that labels depend on.
type LabelWatch struct {
	Object client.Object
	// Machines names the infrastructure machines that an event concerns.
	Machines handler.MapFunc
	// Changed picks the events that matter.
	Changed predicate.Predicate
}
