// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider"
)

// changed passes updates that the function says matter, and new objects; and a resync, by which a lost event is made good.
func changed(matters func(event.UpdateEvent) bool) predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return matters(e) || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
		},
	}
}

// moved passes infrastructure machines that are in another failure domain, or are paused no longer.
func moved(p provider.Provider) predicate.Predicate {
	return changed(func(e event.UpdateEvent) bool {
		return p.Place(e.ObjectOld).Domain != p.Place(e.ObjectNew).Domain || annotations.HasPaused(e.ObjectOld) != annotations.HasPaused(e.ObjectNew)
	})
}

// joined passes Machines that get a Node, or another logical failure domain.
func joined() predicate.Predicate {
	return changed(func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.Machine), e.ObjectNew.(*clusterv1.Machine)
		return before.Status.NodeRef != after.Status.NodeRef ||
			before.Labels[faultlinev1.DistributionKeyLabel] != after.Labels[faultlinev1.DistributionKeyLabel]
	})
}

// redescribed passes infrastructure clusters one of whose failure domains is in another zone or region now. Other attributes, such
// as what is free, change with every machine.
func redescribed() predicate.Predicate {
	return changed(func(e event.UpdateEvent) bool {
		before, after := *e.ObjectOld.(provider.Cluster).FailureDomains(), *e.ObjectNew.(provider.Cluster).FailureDomains()
		return !slices.EqualFunc(before, after, func(a, b clusterv1.FailureDomain) bool {
			return a.Name == b.Name && a.Attributes[faultlinev1.ZoneAttribute] == b.Attributes[faultlinev1.ZoneAttribute] &&
				a.Attributes[faultlinev1.RegionAttribute] == b.Attributes[faultlinev1.RegionAttribute]
		})
	})
}

// relabelled drops the heartbeats of Nodes. A taint is what a cloud provider takes off when it has initialized a Node.
func relabelled() predicate.Predicate {
	return changed(func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
		return !maps.Equal(before.Labels, after.Labels) || !read(before).equal(read(after)) || Uninitialized(before) != Uninitialized(after)
	})
}
