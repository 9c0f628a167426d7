// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3labelsync

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// machineChanged passes machines that get a Node, another domain, or are not paused any more.
func machineChanged() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*infrav1.Metal3Machine), e.ObjectNew.(*infrav1.Metal3Machine)
			return before.Spec.ProviderID != after.Spec.ProviderID || before.Status.FailureDomain != after.Status.FailureDomain ||
				before.Annotations[infrav1.HostAnnotation] != after.Annotations[infrav1.HostAnnotation] ||
				annotations.HasPaused(before) != annotations.HasPaused(after) ||
				// A resync, by which a lost event is made good.
				before.ResourceVersion == after.ResourceVersion
		},
	}
}

// hostRelabelled drops all that happens to a host but changes of its labels. A new host has no machine yet.
func hostRelabelled() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: relabelled,
	}
}

// nodeRelabelled drops the heartbeats of Nodes. The provider ID is what a Node is found by.
func nodeRelabelled() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return relabelled(e) || e.ObjectOld.(*corev1.Node).Spec.ProviderID != e.ObjectNew.(*corev1.Node).Spec.ProviderID
		},
	}
}

func relabelled(e event.UpdateEvent) bool {
	return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
}

// clusterChanged passes clusters that want other labels copied, or whose domains are others.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			return before[infrav1.LabelSyncPrefixesAnnotation] != after[infrav1.LabelSyncPrefixesAnnotation] ||
				e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
		},
	}
}
