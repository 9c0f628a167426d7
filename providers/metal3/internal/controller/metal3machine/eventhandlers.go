// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/watch"
)

// machineOfHost returns the machine that uses the host. The inventory enqueues the machines that wait for one.
func machineOfHost(_ context.Context, o client.Object) []reconcile.Request {
	if consumer := hosts.Observe(o.(*bmov1alpha1.BareMetalHost)).Consumer; consumer.Name != "" && consumer.Namespace == o.GetNamespace() {
		return []reconcile.Request{{NamespacedName: consumer}}
	}
	return nil
}

// machineOfData returns the machine of the data's claim, which has the name of the machine.
func machineOfData(_ context.Context, o client.Object) []reconcile.Request {
	if claim := o.(*infrav1.Metal3Data).Spec.Claim.Name; claim != "" {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: claim}}}
	}
	return nil
}

// machineOfNode returns the machine of a workload cluster's Node, found by provider ID, by the UID of its host or by its
// hostname.
func (r *Reconciler) machineOfNode(ctx context.Context, o client.Object) []reconcile.Request {
	parts := strings.Split(strings.TrimPrefix(o.(*corev1.Node).Spec.ProviderID, infrav1.ProviderIDPrefix), "/")
	if len(parts) == 3 {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: parts[0], Name: parts[2]}}}
	}
	by := client.MatchingFields{hostUIDIndex: o.GetLabels()[infrav1.NodeUUIDLabel]}
	if by[hostUIDIndex] == "" {
		by = client.MatchingFields{hostHostnameIndex: o.GetLabels()[corev1.LabelHostname]}
	}
	if by[hostUIDIndex] == "" && by[hostHostnameIndex] == "" {
		return nil
	}
	list := &bmov1alpha1.BareMetalHostList{}
	if err := r.Client.List(ctx, list, by, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing BareMetalHosts", "by", by)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, machineOfHost(ctx, &list.Items[i])...)
	}
	return requests
}

// machinesOfInfraCluster returns the machines that have no host or whose failure domain is unlisted, after the failure domains of
// the cluster have changed.
func (r *Reconciler) machinesOfInfraCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &infrav1.Metal3MachineList{}, func(infra *infrav1.Metal3Machine) bool {
		return !conditions.IsTrue(infra, infrav1.Metal3MachineAssociateBareMetalHostCondition) ||
			conditions.Has(infra, infrav1.Metal3MachineFailureDomainUnlistedCondition)
	}, watch.OfInfrastructure(o))
}

// allMachinesOfInfraCluster also returns the machines that have a host, after the label prefixes for their Nodes have changed.
func (r *Reconciler) allMachinesOfInfraCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machines(ctx, watch.OfInfrastructure(o))
}

// machinesOfWorkload returns the machines of a Cluster whose workload cluster is reachable again: some wait for their Node, and
// the others must observe a Node that comes back.
func (r *Reconciler) machinesOfWorkload(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machines(ctx, watch.OfCluster(client.ObjectKeyFromObject(o)))
}

func (r *Reconciler) machines(ctx context.Context, which client.ListOption) []reconcile.Request {
	return watch.Requests[*infrav1.Metal3Machine](ctx, r.Client, &infrav1.Metal3MachineList{}, nil, which)
}
