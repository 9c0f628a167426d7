// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3machinetemplate passes on to machines the one field of their template that may change after they were made:
// how their hosts' disks are cleaned.
package metal3machinetemplate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/watchfilter"
)

// Reconciler drives the Metal3Machines of Metal3MachineTemplates.
type Reconciler struct {
	Client client.Client

	filter watchfilter.Filter
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconcile gives the template's cleaning mode to its machines. A template without one leaves it to the machines.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.Metal3MachineTemplate{}
	if err := r.Client.Get(ctx, req.NamespacedName, template); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	mode := template.Spec.Template.Spec.AutomatedCleaningMode
	if !r.filter.Passes(template) || !template.DeletionTimestamp.IsZero() || mode == "" {
		return ctrl.Result{}, nil
	}
	machines := &infrav1.Metal3MachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(req.Namespace), client.MatchingFields{templateIndex: req.Name}); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing Metal3Machines of Metal3MachineTemplate %s: %w", req.Name, err)
	}
	var (
		errs   []error
		behind bool
	)
	for i := range machines.Items {
		err := r.clean(ctx, template, &machines.Items[i], mode)
		behind = behind || apierrors.IsConflict(err)
		if !apierrors.IsConflict(err) {
			errs = append(errs, client.IgnoreNotFound(err))
		}
	}
	if behind {
		return ctrl.Result{RequeueAfter: patch.CatchUp}, kerrors.NewAggregate(errs)
	}
	return ctrl.Result{}, kerrors.NewAggregate(errs)
}

// clean gives one machine the mode, from where its host gets it. One that is being deleted has no say in that any more.
func (r *Reconciler) clean(ctx context.Context, template client.Object, machine *infrav1.Metal3Machine, mode infrav1.CleaningMode) error {
	if machine.Spec.AutomatedCleaningMode == mode || !machine.DeletionTimestamp.IsZero() || !r.filter.Passes(machine) {
		return nil
	}
	if paused, err := r.paused(ctx, template, machine); err != nil || paused {
		return err
	}
	p := patch.From(machine)
	machine.Spec.AutomatedCleaningMode = mode
	return p.ApplySpec(ctx, r.Client, machine)
}

// paused asks for each machine, because a template may serve several clusters.
func (r *Reconciler) paused(ctx context.Context, template client.Object, machine *infrav1.Metal3Machine) (bool, error) {
	cluster := &clusterv1.Cluster{}
	if machine.Labels[clusterv1.ClusterNameLabel] != "" {
		found, err := util.GetClusterFromMetadata(ctx, r.Client, machine.ObjectMeta)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("reading the Cluster of Metal3Machine %s: %w", machine.Name, err)
		}
		if err == nil {
			cluster = found
		}
	}
	return annotations.IsPaused(cluster, machine) || annotations.HasPaused(template), nil
}
