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

// changed passes create events, updates for which the function returns true, and resyncs, which make up for lost events.
func changed(matters func(event.UpdateEvent) bool) predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return matters(e) || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
		},
	}
}

// moved passes infrastructure machines whose failure domain, or paused annotation, has changed.
func moved(p provider.Provider) predicate.Predicate {
	return changed(func(e event.UpdateEvent) bool {
		return p.Location(e.ObjectOld).Domain != p.Location(e.ObjectNew).Domain || annotations.HasPaused(e.ObjectOld) != annotations.HasPaused(e.ObjectNew)
	})
}

// joined passes Machines whose Node or logical failure domain has changed.
func joined() predicate.Predicate {
	return changed(func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.Machine), e.ObjectNew.(*clusterv1.Machine)
		return before.Status.NodeRef != after.Status.NodeRef ||
			faultlinev1.Value(before.Labels, faultlinev1.DistributionKeyLabel) != faultlinev1.Value(after.Labels, faultlinev1.DistributionKeyLabel)
	})
}

// redescribed passes infrastructure clusters in which the zone or region of a failure domain has changed. Other attributes, such
// as free capacity, change with every machine.
func redescribed() predicate.Predicate {
	return changed(func(e event.UpdateEvent) bool {
		before, after := *e.ObjectOld.(provider.Cluster).FailureDomains(), *e.ObjectNew.(provider.Cluster).FailureDomains()
		return !slices.EqualFunc(before, after, func(a, b clusterv1.FailureDomain) bool {
			return a.Name == b.Name && a.Attributes[faultlinev1.ZoneAttribute] == b.Attributes[faultlinev1.ZoneAttribute] &&
				a.Attributes[faultlinev1.RegionAttribute] == b.Attributes[faultlinev1.RegionAttribute]
		})
	})
}

// relabelled drops the heartbeats of Nodes. It passes a change of the uninitialized taint, which a cloud provider removes once it
// has initialized a Node.
func relabelled() predicate.Predicate {
	return changed(func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
		return !maps.Equal(before.Labels, after.Labels) || !read(before).equal(read(after)) || Uninitialized(before) != Uninitialized(after)
	})
}
