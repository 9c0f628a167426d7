// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/watch"
)

// requests returns the data selected by the options, filtered by keep.
func (r *Reconciler) requests(ctx context.Context, keep func(*infrav1.Metal3Data) bool, options ...client.ListOption) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &infrav1.Metal3DataList{}, keep, options...)
}

// isWaiting reports whether data is not rendered or is being deleted.
func isWaiting(data *infrav1.Metal3Data) bool {
	return !data.Status.Ready || !data.DeletionTimestamp.IsZero()
}

// waitingDataOf returns the waiting data of a machine. Its claim has the name of the machine.
func (r *Reconciler) waitingDataOf(ctx context.Context, namespace, machine string) []reconcile.Request {
	return r.requests(ctx, isWaiting, client.InNamespace(namespace), client.MatchingFields{claimIndex: machine})
}

// dataOfClaim returns the data that waits for its claim to appear in the cache or to be deleted.
func (r *Reconciler) dataOfClaim(ctx context.Context, claim client.Object) []reconcile.Request {
	return r.waitingDataOf(ctx, claim.GetNamespace(), claim.GetName())
}

func (r *Reconciler) dataOfTemplate(ctx context.Context, template client.Object) []reconcile.Request {
	return r.requests(ctx, func(data *infrav1.Metal3Data) bool {
		return isWaiting(data) && data.Spec.Template.Name == template.GetName()
	},
		client.InNamespace(template.GetNamespace()))
}

func (r *Reconciler) dataOfMetal3Machine(ctx context.Context, machine client.Object) []reconcile.Request {
	return r.waitingDataOf(ctx, machine.GetNamespace(), machine.GetName())
}

func (r *Reconciler) dataOfMachine(ctx context.Context, o client.Object) []reconcile.Request {
	machine := o.(*clusterv1.Machine)
	return r.waitingDataOf(ctx, machine.Namespace, machine.Spec.InfrastructureRef.Name)
}

func (r *Reconciler) dataOfHost(ctx context.Context, o client.Object) []reconcile.Request {
	consumer := o.(*bmov1alpha1.BareMetalHost).Spec.ConsumerRef
	if consumer == nil || consumer.Kind != "Metal3Machine" {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(consumer.APIVersion); err != nil || gv.Group != infrav1.GroupVersion.Group {
		return nil
	}
	return r.waitingDataOf(ctx, o.GetNamespace(), consumer.Name)
}

// dataOfSecret returns the data that a Secret was created for.
func (r *Reconciler) dataOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.requests(ctx, nil,
		client.InNamespace(secret.GetNamespace()), client.MatchingFields{secretIndex: secret.GetName()})
}

func (r *Reconciler) dataOfAddressClaim(ctx context.Context, o client.Object) []reconcile.Request {
	return r.dataOfClaimName(ctx, o, o.(*ipamclusterv1.IPAddressClaim).Spec.PoolRef.Name)
}
