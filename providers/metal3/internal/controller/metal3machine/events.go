// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
)

// machineOfHost names the machine that has the host. Machines that wait for one are named by the book.
func machineOfHost(_ context.Context, o client.Object) []reconcile.Request {
	if consumer := hosts.Observe(o.(*bmov1alpha1.BareMetalHost)).Consumer; consumer.Name != "" && consumer.Namespace == o.GetNamespace() {
		return []reconcile.Request{{NamespacedName: consumer}}
	}
	return nil
}

// machineOfData names the machine by the claim, which has the machine's name.
func machineOfData(_ context.Context, o client.Object) []reconcile.Request {
	if claim := o.(*infrav1.Metal3Data).Spec.Claim.Name; claim != "" {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: claim}}}
	}
	return nil
}

// machineOfNode names the machine that a Node of a workload cluster says it is, by provider ID, by the UID of its host or by
// its hostname.
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

// machinesOfInfraCluster names the machines that have no host yet, or say that the cluster does not list their domain: its
// domains have changed.
func (r *Reconciler) machinesOfInfraCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machinesBelow(ctx, o, func(metal3 *infrav1.Metal3Machine) bool {
		return !conditions.IsTrue(metal3, infrav1.Metal3MachineAssociateBareMetalHostCondition) ||
			conditions.Has(metal3, infrav1.Metal3MachineFailureDomainUnlistedCondition)
	})
}

// allMachinesOfInfraCluster names those that have a host too: what their Nodes may be told has changed.
func (r *Reconciler) allMachinesOfInfraCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machinesBelow(ctx, o, func(*infrav1.Metal3Machine) bool { return true })
}

func (r *Reconciler) machinesBelow(ctx context.Context, infra client.Object, keep func(*infrav1.Metal3Machine) bool) []reconcile.Request {
	for _, owner := range infra.GetOwnerReferences() {
		if owner.Kind == "Cluster" {
			return r.machines(ctx, client.ObjectKey{Namespace: infra.GetNamespace(), Name: owner.Name}, keep)
		}
	}
	return nil
}

// machinesOfWorkload names the machines of a Cluster that can be reached again: some wait for their Node, and those that have
// it must hear of one that comes back.
func (r *Reconciler) machinesOfWorkload(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machines(ctx, client.ObjectKeyFromObject(o), func(*infrav1.Metal3Machine) bool { return true })
}

func (r *Reconciler) machines(ctx context.Context, cluster client.ObjectKey, keep func(*infrav1.Metal3Machine) bool) []reconcile.Request {
	list := &infrav1.Metal3MachineList{}
	if err := r.Client.List(ctx, list, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing Metal3Machines")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if keep(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
