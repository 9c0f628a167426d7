// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machines reads the Machines of a cluster with their infrastructure machines, and what a Machine says of itself: whether it is unhealthy,
// and who has marked it as the first to be deleted. The controllers that spread, move and hold machines, and that count them, all ask here.
package machines

import (
	"context"
	"fmt"
	"iter"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/faultline-io/faultline/shared/watch"
)

// Snapshot is the Machines of a cluster with their infrastructure machines. The objects are the cache's own: who changes one copies it first.
type Snapshot struct {
	Machines []clusterv1.Machine
	infra    map[clusterv1.ContractVersionedObjectReference]client.Object
}

// Read takes the snapshot of a cluster from a cache; empty is an infrastructure machine of the provider.
func Read(ctx context.Context, c client.Client, cluster watch.OfCluster, empty client.Object) (Snapshot, error) {
	s := Snapshot{infra: map[clusterv1.ContractVersionedObjectReference]client.Object{}}
	gvk, err := apiutil.GVKForObject(empty, c.Scheme())
	if err != nil {
		return s, fmt.Errorf("finding the kind of %T: %w", empty, err)
	}
	infra, err := c.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return s, fmt.Errorf("making a list of %s: %w", gvk.Kind, err)
	}
	machines := &clusterv1.MachineList{}
	for _, list := range []runtime.Object{infra, machines} {
		if err := c.List(ctx, list.(client.ObjectList), cluster, client.UnsafeDisableDeepCopy); err != nil {
			return s, fmt.Errorf("listing machines of %s as %T: %w", cluster.Name, list, err)
		}
	}
	s.Machines = machines.Items
	return s, meta.EachListItem(infra, func(o runtime.Object) error {
		of := o.(client.Object)
		s.infra[clusterv1.ContractVersionedObjectReference{APIGroup: gvk.Group, Kind: gvk.Kind, Name: of.GetName()}] = of
		return nil
	})
}

// InfraOf is the infrastructure machine of a Machine; nil when it does not exist, or is another provider's, which may have the same name.
func (s Snapshot) InfraOf(machine *clusterv1.Machine) client.Object {
	return s.infra[machine.Spec.InfrastructureRef]
}

// Infra are all infrastructure machines, also those that have no Machine.
func (s Snapshot) Infra() iter.Seq[client.Object] { return maps.Values(s.infra) }

// OfControlPlane reads the control-plane Machines of a cluster with a reader that may be the API server itself: their infrastructure machines are
// few, and are read one by one.
func OfControlPlane(ctx context.Context, reader client.Reader, cluster client.ObjectKey) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := reader.List(ctx, list, watch.OfCluster(cluster), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return nil, fmt.Errorf("listing control-plane Machines of %s: %w", cluster, err)
	}
	return list.Items, nil
}

// Unhealthy reports whether Cluster API replaces the machine, or would if somebody else did not do it: its health check has failed, a person has
// asked for its remediation, or the remediation is under way.
//
// A machine is going to be deleted then, by another than whoever reads this, so that nothing that depends on it may begin: that is the same for
// each controller. A Node that is not well (NodeHealthy, NodeReady) is not part of it. It may get well by itself within the timeout of the health
// check, and what it means differs: it makes a control-plane machine not Ready, and a worker unavailable. Who counts available machines adds it.
func Unhealthy(machine *clusterv1.Machine) bool {
	_, remediate := machine.Annotations[clusterv1.RemediateMachineAnnotation]
	return remediate || conditions.IsFalse(machine, clusterv1.MachineHealthCheckSucceededCondition) ||
		conditions.IsFalse(machine, clusterv1.MachineOwnerRemediatedCondition)
}
