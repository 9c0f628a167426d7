// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3machinetemplate copies the only mutable field of a machine template to existing machines: the cleaning mode of
// their hosts' disks.
package metal3machinetemplate

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles Metal3MachineTemplates.
type Reconciler struct {
	Client client.Client

	filter  watch.Filter
	written patch.Expectations
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconcile copies the template's cleaning mode to its machines. A template without one does not change them.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.Metal3MachineTemplate, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, NewScope: r.newScope, ReconcileNormal: r.setCleaningModes,
	}.Run(ctx, req, &infrav1.Metal3MachineTemplate{})
}

// scope holds a template and its machines.
type scope struct {
	template *infrav1.Metal3MachineTemplate
	machines []infrav1.Metal3Machine
}

// Owner returns nil: a template may serve several Clusters.
func (s *scope) Owner() *clusterv1.Cluster { return nil }

// newScope returns nil for a template without a cleaning mode.
func (r *Reconciler) newScope(ctx context.Context, template *infrav1.Metal3MachineTemplate, _ *patch.Patch) (*scope, error) {
	if template.Spec.Template.Spec.AutomatedCleaningMode == "" {
		return nil, nil
	}
	machines := &infrav1.Metal3MachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(template.Namespace), client.MatchingFields{templateIndex: template.Name}); err != nil {
		return nil, fmt.Errorf("listing Metal3Machines of Metal3MachineTemplate %s: %w", template.Name, err)
	}
	return &scope{template: template, machines: machines.Items}, nil
}

// setCleaningModes processes all machines, continuing after a conflict or an error.
func (r *Reconciler) setCleaningModes(ctx context.Context, s *scope) (ctrl.Result, error) {
	var errs []error
	for i := range s.machines {
		err := r.setCleaningMode(ctx, &s.machines[i], s.template.Spec.Template.Spec.AutomatedCleaningMode)
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return reconcile.Outcome(ctrl.Result{}, errs...)
}

// setCleaningMode sets the cleaning mode of one machine, from which it is copied to the host. A machine that is being deleted is
// not changed.
func (r *Reconciler) setCleaningMode(ctx context.Context, machine *infrav1.Metal3Machine, mode infrav1.CleaningMode) error {
	if machine.Spec.AutomatedCleaningMode == mode || !machine.DeletionTimestamp.IsZero() || !r.filter.Passes(machine) {
		return nil
	}
	cluster, err := reconcile.ClusterOf(ctx, r.Client, machine)
	if err != nil {
		return err
	}
	if annotations.HasPaused(machine) || cluster != nil && annotations.IsPaused(cluster, machine) {
		return nil
	}
	p := patch.From(machine)
	machine.Spec.AutomatedCleaningMode = mode
	return p.ApplySpec(ctx, r.Client, machine)
}
