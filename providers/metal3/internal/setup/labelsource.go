// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// LabelSource reads the labels of hosts for the Node label controller.
type LabelSource struct {
	Client client.Reader
}

var _ nodes.LabelSource = LabelSource{}

// Labels returns the labels to copy from the machine's host, or nil while the machine has no host.
func (s LabelSource) Labels(ctx context.Context, cluster provider.Cluster, machine client.Object) (*nodes.Labels, error) {
	name := hosts.Named(machine)
	if name == "" {
		return nil, nil
	}
	host, err := reconcile.Find(ctx, s.Client, client.ObjectKey{Namespace: machine.GetNamespace(), Name: name}, &bmov1alpha1.BareMetalHost{})
	if err != nil || host == nil || !hosts.BelongsTo(host, client.ObjectKeyFromObject(machine)) {
		return nil, err
	}
	// Refused prefixes and labels are reported by the cluster and machine controllers.
	prefixes, _ := placement.LabelPrefixes(cluster.GetAnnotations()[infrav1.LabelSyncPrefixesAnnotation])
	copied := CopiedLabels(host.Labels, prefixes)
	return &copied, nil
}

// Watches returns the watches on the labels of hosts, the prefixes listed by clusters, and the hosts of machines.
func (s LabelSource) Watches() []nodes.LabelWatch {
	return []nodes.LabelWatch{
		{Object: &bmov1alpha1.BareMetalHost{}, Machines: machineOfHost, Changed: updates(func(before, after client.Object) bool {
			return !maps.Equal(before.GetLabels(), after.GetLabels())
		})},
		{Object: &infrav1.Metal3Cluster{}, Machines: s.machinesOfCluster, Changed: updates(annotated(infrav1.LabelSyncPrefixesAnnotation))},
		{Object: &infrav1.Metal3Machine{}, Machines: itself, Changed: updates(annotated(infrav1.HostAnnotation))},
	}
}

// updates passes updates for which matter returns true. New objects enqueue their machines by themselves: a new host has no
// machine yet.
func updates(matter func(before, after client.Object) bool) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return matter(e.ObjectOld, e.ObjectNew) },
	}
}

func annotated(key string) func(before, after client.Object) bool {
	return func(before, after client.Object) bool {
		return before.GetAnnotations()[key] != after.GetAnnotations()[key]
	}
}

func machineOfHost(_ context.Context, o client.Object) []ctrl.Request {
	if consumer := hosts.Observe(o.(*bmov1alpha1.BareMetalHost)).Consumer; consumer.Name != "" && consumer.Namespace == o.GetNamespace() {
		return []ctrl.Request{{NamespacedName: consumer}}
	}
	return nil
}

func (s LabelSource) machinesOfCluster(ctx context.Context, o client.Object) []ctrl.Request {
	return watch.Requests[*infrav1.Metal3Machine](ctx, s.Client, &infrav1.Metal3MachineList{}, nil, watch.OfInfrastructure(o))
}

func itself(_ context.Context, o client.Object) []ctrl.Request {
	return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}
