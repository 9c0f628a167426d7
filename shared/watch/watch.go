// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch provides predicates, map functions and filters for controllers' watches: which events matter, which objects they
// enqueue, and which objects belong to another manager.
package watch

import (
	"context"
	"fmt"
	"maps"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// SpecOrMetadataChanged returns a predicate that drops updates that only change the status, which a controller writes itself on objects
// of its kind. A resync, which makes up for a lost event, passes.
func SpecOrMetadataChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
			!equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences()) ||
			e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
	}}
}

// Created returns a predicate that passes only create events.
func Created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// ClusterPausedOrCreated returns a predicate for Clusters that are paused, unpaused or created. A manager's cache may receive a Cluster
// after the objects that belong to it, above all when the manager starts. Their reconciles then wait for the create event.
func ClusterPausedOrCreated(scheme *runtime.Scheme, log logr.Logger) predicate.Predicate {
	return predicate.Or[client.Object](Created(), predicates.ClusterPausedTransitions(scheme, log)) //nolint:forbidigo // the one place that adds create events
}

// ClusterProgressed is ClusterPausedOrCreated, and passes Clusters whose infrastructure becomes provisioned: machines wait for that, too.
func ClusterProgressed(scheme *runtime.Scheme, log logr.Logger) predicate.Predicate {
	return predicate.Or(ClusterPausedOrCreated(scheme, log), predicates.ClusterUpdateInfraProvisioned(scheme, log))
}

// Deleted returns a predicate that passes only delete events.
func Deleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// Requests returns requests for the objects that the options select and for which keep returns true; a nil keep selects all. list
// is an empty list of their kind. The objects are shared with the cache, so keep must not modify them. Errors are logged.
func Requests[T client.Object](
	ctx context.Context, reader client.Reader, list client.ObjectList, keep func(T) bool, opts ...client.ListOption,
) []ctrl.Request {
	if err := reader.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list objects for an event", "list", fmt.Sprintf("%T", list))
		return nil
	}
	var requests []ctrl.Request
	_ = meta.EachListItem(list, func(o runtime.Object) error { // it fails only if the value is not a list
		if item := o.(T); keep == nil || keep(item) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(item)})
		}
		return nil
	})
	return requests
}

// InfraClusters returns a map function that maps an object with the cluster name label to the infrastructure clusters of that
// Cluster. list is an empty list of the provider's clusters.
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

// OfCluster is a list option that selects objects by the namespace and cluster name label of a Cluster.
type OfCluster client.ObjectKey

// ApplyToList implements client.ListOption.
func (o OfCluster) ApplyToList(options *client.ListOptions) {
	client.InNamespace(o.Namespace).ApplyToList(options)
	client.MatchingLabels{clusterv1.ClusterNameLabel: o.Name}.ApplyToList(options)
}

// OfInfrastructure returns the list option for the Cluster of an infrastructure cluster. It selects nothing while there is no
// Cluster.
func OfInfrastructure(infra client.Object) OfCluster {
	return OfCluster{Namespace: infra.GetNamespace(), Name: ClusterName(infra)}
}

// ClusterName returns the name of the Cluster that owns an infrastructure cluster, or that its cluster name label names; "" if
// there is neither.
func ClusterName(infra client.Object) string {
	for _, ref := range infra.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			return ref.Name
		}
	}
	return infra.GetLabels()[clusterv1.ClusterNameLabel]
}
