// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch is what controllers' watches have in common: which events matter, whom they concern, and which objects are
// another manager's.
package watch

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// NotStatusOnly drops updates of the status alone, which are a controller's own on the objects of its kind. A resync, by which a
// lost event is made good, passes.
func NotStatusOnly() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
			!equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences()) ||
			e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
	}}
}

// CreatesOnly passes objects that have come.
func CreatesOnly() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// DeletesOnly passes objects that have gone.
func DeletesOnly() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// Requests names the objects that the options select and keep does not drop; a nil keep drops none. The list is an empty one of
// their kind. They are the cache's own, so keep only looks at them.
func Requests[T client.Object](
	ctx context.Context, reader client.Reader, list client.ObjectList, keep func(T) bool, opts ...client.ListOption,
) []ctrl.Request {
	if err := reader.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing whom an event concerns", "list", fmt.Sprintf("%T", list))
		return nil
	}
	var requests []ctrl.Request
	_ = meta.EachListItem(list, func(o runtime.Object) error { // it fails only for what is no list
		if item := o.(T); keep == nil || keep(item) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(item)})
		}
		return nil
	})
	return requests
}

// InfraClusters maps what belongs to a Cluster, by the label that all of it carries, to the infrastructure cluster. The list is an empty
// one of the provider's clusters.
func InfraClusters(reader client.Reader, list client.ObjectList) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []ctrl.Request {
		name := o.GetLabels()[clusterv1.ClusterNameLabel]
		if name == "" {
			return nil
		}
		return Requests(ctx, reader, list.DeepCopyObject().(client.ObjectList), func(infra client.Object) bool {
			return ClusterName(infra) == name
		}, client.InNamespace(o.GetNamespace()))
	}
}

// OfCluster selects what belongs to a Cluster, by the label that all of it carries.
type OfCluster client.ObjectKey

// ApplyToList makes it an option.
func (o OfCluster) ApplyToList(options *client.ListOptions) {
	client.InNamespace(o.Namespace).ApplyToList(options)
	client.MatchingLabels{clusterv1.ClusterNameLabel: o.Name}.ApplyToList(options)
}

// OfInfrastructure selects what belongs to the Cluster of an infrastructure cluster; nothing while that has none.
func OfInfrastructure(infra client.Object) OfCluster {
	return OfCluster{Namespace: infra.GetNamespace(), Name: ClusterName(infra)}
}

// ClusterName is the name of the Cluster that owns an infrastructure cluster, or that its label names; "" when nothing says it.
func ClusterName(infra client.Object) string {
	for _, ref := range infra.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			return ref.Name
		}
	}
	return infra.GetLabels()[clusterv1.ClusterNameLabel]
}
