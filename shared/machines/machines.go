// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machines reads the Machines of a cluster with their infrastructure machines and their control plane, and evaluates whether
// a Machine is unhealthy and who has marked it for deletion. It is shared by the controllers that spread, move, hold and count
// machines.
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

// Snapshot holds the Machines of a cluster with their infrastructure machines. The objects are shared with the cache: copy one
// before you change it.
type Snapshot struct {
	Machines []clusterv1.Machine
	infra    map[clusterv1.ContractVersionedObjectReference]client.Object
}

// Read reads the snapshot of a cluster from a cache; empty is an empty infrastructure machine of the provider.
func Read(ctx context.Context, c client.Client, cluster watch.OfCluster, empty client.Object) (Snapshot, error) {
	s := Snapshot{infra: map[clusterv1.ContractVersionedObjectReference]client.Object{}}
	gvk, err := apiutil.GVKForObject(empty, c.Scheme())
	if err != nil {
		return s, fmt.Errorf("finding the kind of %T: %w", empty, err)
	}
	infra, err := c.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return s, fmt.Errorf("creating a list of %s: %w", gvk.Kind, err)
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

// InfraOf returns the infrastructure machine of a Machine; nil if it does not exist or belongs to another provider, which may use
// the same name.
func (s Snapshot) InfraOf(machine *clusterv1.Machine) client.Object {
	return s.infra[machine.Spec.InfrastructureRef]
}

// Infra returns all infrastructure machines, including those without a Machine.
func (s Snapshot) Infra() iter.Seq[client.Object] { return maps.Values(s.infra) }

// OfControlPlane lists the control-plane Machines of a cluster. The reader may be the API server itself: callers then read the
// few infrastructure machines one by one.
func OfControlPlane(ctx context.Context, reader client.Reader, cluster client.ObjectKey) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := reader.List(ctx, list, watch.OfCluster(cluster), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return nil, fmt.Errorf("listing control-plane Machines of %s: %w", cluster, err)
	}
	return list.Items, nil
}

// Unhealthy reports whether Cluster API replaces the machine, or would if no other controller did: its health check has failed, a
// user has requested its remediation, or the remediation is in progress.
//
// Another controller will delete such a machine, so nothing that depends on it may begin. An unhealthy Node (NodeHealthy,
// NodeReady) is not included: it may recover within the timeout of the health check, and its effect differs. It makes a
// control-plane machine not Ready, and a worker unavailable. Callers that count available machines must check it as well.
func Unhealthy(machine *clusterv1.Machine) bool {
	_, remediate := machine.Annotations[clusterv1.RemediateMachineAnnotation]
	return remediate || conditions.IsFalse(machine, clusterv1.MachineHealthCheckSucceededCondition) ||
		conditions.IsFalse(machine, clusterv1.MachineOwnerRemediatedCondition)
}
