// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// machineTemplateConcurrency is the number of machine templates to process simultaneously. Each costs a request when its status
// changes.
const machineTemplateConcurrency = 5

// MachineTemplate is a machine template of a provider.
type MachineTemplate interface {
	client.Object
	// NodeStatus returns a pointer to the status.
	NodeStatus() *faultlinev1.MachineTemplateStatus
}

// MachineTemplates writes the status of machine templates, which describes the Nodes of their machines to the cluster autoscaler.
type MachineTemplates[T MachineTemplate] struct {
	Client client.Client
	// Empty is an empty template, and List an empty list of them.
	Empty T
	List  client.ObjectList
	// Status returns the status of a template.
	Status func(context.Context, T) (faultlinev1.MachineTemplateStatus, error)
	// Input is a kind that the status of all templates in its namespace depends on, and InputChanged passes the events that may change
	// it. Both may be nil.
	Input        client.Object
	InputChanged predicate.Predicate

	filter  watch.Filter
	written patch.Expectations
}

// SetupWithManager adds the controller to the manager.
func (r *MachineTemplates[T]) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	b := ctrl.NewControllerManagedBy(mgr).Named("machinetemplatestatus").
		For(r.Empty, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(watch.Concurrency(machineTemplateConcurrency)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log)))
	if r.Input != nil {
		b = b.Watches(r.Input, watch.Collect(r.ofInput), builder.WithPredicates(r.InputChanged))
	}
	return b.Complete(r)
}

// Reconcile writes the status of a template, unless the template or the Cluster that owns it is paused.
func (r *MachineTemplates[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[T, *templateScope[T]]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, NewScope: r.newScope,
		ReconcileNormal: func(ctx context.Context, s *templateScope[T]) (ctrl.Result, error) {
			return ctrl.Result{}, r.setStatus(ctx, s)
		},
	}.Run(ctx, req, r.Empty.DeepCopyObject().(T))
}

type templateScope[T MachineTemplate] struct {
	template T
	owner    *clusterv1.Cluster
}

// Owner returns the Cluster that owns the template; nil for a template that none uses, or of a ClusterClass.
func (s *templateScope[T]) Owner() *clusterv1.Cluster { return s.owner }

func (r *MachineTemplates[T]) newScope(ctx context.Context, template T, _ *patch.Patch) (*templateScope[T], error) {
	owner, err := reconcile.OwnerCluster(ctx, r.Client, template)
	return &templateScope[T]{template: template, owner: owner}, err
}

func (r *MachineTemplates[T]) setStatus(ctx context.Context, s *templateScope[T]) error {
	status, err := r.Status(ctx, s.template)
	if err != nil {
		return err
	}
	*s.template.NodeStatus() = status
	return nil
}

// ofCluster returns the templates that the Cluster owns.
func (r *MachineTemplates[T]) ofCluster(ctx context.Context, cluster client.Object) []ctrl.Request {
	return r.inNamespace(ctx, cluster.GetNamespace(), func(template client.Object) bool {
		return watch.ClusterName(template) == cluster.GetName()
	})
}

func (r *MachineTemplates[T]) ofInput(ctx context.Context, input client.Object) []ctrl.Request {
	return r.inNamespace(ctx, input.GetNamespace(), nil)
}

func (r *MachineTemplates[T]) inNamespace(ctx context.Context, namespace string, keep func(client.Object) bool) []ctrl.Request {
	return watch.Requests(ctx, r.Client, r.List.DeepCopyObject().(client.ObjectList), keep, client.InNamespace(namespace))
}
