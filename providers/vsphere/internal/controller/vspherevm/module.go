// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/clustermodule"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// ensureModule adds the machine to the cluster module of its owner before it is powered on, because a host is chosen then. The
// VSphereCluster's controller creates the module; the machine waits for it unless that controller reports that it cannot be
// created. A running machine joins whenever there is a module, and stays ready without one.
func (r *Reconciler) ensureModule(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if !r.ClusterModules {
		return reconcile.Proceed, nil
	}
	target, has := clustermodule.TargetOf(s.vm, s.cluster, s.controlPlane())
	if !has || ptr.Deref(s.cluster.Spec.DisableClusterModule, false) || !clustermodule.CanBe(s.observed.ClusterRef) {
		s.vm.Status.ModuleUUID = nil
		return reconcile.Proceed, nil
	}
	s.doing = joinModule
	uuid, there, err := s.module(ctx, target)
	switch {
	case err != nil:
		return r.withoutModule(s, "looking up the cluster module of", err)
	case !there:
		s.vm.Status.ModuleUUID = nil
		return r.awaitModule(ctx, s, target)
	case ptr.Deref(s.vm.Status.ModuleUUID, "") == uuid:
		return reconcile.Proceed, nil
	}
	switch err := s.session.JoinModule(ctx, uuid, s.observed.Ref); {
	case errors.Is(err, vcenter.ErrNotFound):
		s.vm.Status.ModuleUUID = nil
		return r.awaitModule(ctx, s, target)
	case err != nil:
		return r.withoutModule(s, "adding to cluster module "+uuid+" the", err)
	}
	s.vm.Status.ModuleUUID = &uuid
	return reconcile.Proceed, nil
}

func (s *scope) controlPlane() string {
	if s.owner == nil {
		return ""
	}
	return s.owner.Spec.ControlPlaneRef.Name
}

// module returns the module recorded for the machine. It makes no call if the modules of its target are cached.
func (s *scope) module(ctx context.Context, target clustermodule.Target) (uuid string, there bool, err error) {
	recorded := clustermodule.For(s.cluster.Spec.ClusterModules, target)
	if len(recorded) == 0 {
		return "", false, nil
	}
	where, err := s.session.Modules(ctx, recorded...)
	if err != nil {
		return "", false, err
	}
	uuid, there = clustermodule.Of(s.cluster.Spec.ClusterModules, clustermodule.Wanted{Target: target, Compute: s.observed.ClusterRef}, where)
	return uuid, there, nil
}

// awaitModule waits for the event that the VSphereCluster has a module for the machine, or reports why not. No module is created for a
// deleted MachineDeployment, whose name the machines of an orphaned MachineSet still carry.
func (r *Reconciler) awaitModule(ctx context.Context, s *scope, target clustermodule.Target) (reconcile.Progress, error) {
	runs := s.observed.Power == vcenter.PoweredOn
	if runs || clustermodule.Refused(s.cluster, target) {
		return reconcile.Proceed, nil
	}
	if !target.ControlPlane {
		key := client.ObjectKey{Namespace: s.vm.Namespace, Name: target.Name}
		if err := r.Client.Get(ctx, key, &clusterv1.MachineDeployment{}); apierrors.IsNotFound(err) {
			return reconcile.Proceed, nil
		} else if err != nil {
			return reconcile.Wait, fmt.Errorf("reading the owner of the cluster module: %w", err)
		}
	}
	setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineWaitingForClusterModuleReason, fmt.Sprintf(
		"VSphereCluster %s has no cluster module for machines of %s in compute cluster %s yet", s.cluster.Name, target.Name, s.observed.Cluster))
	return reconcile.Wait, nil
}

// withoutModule lets a running machine continue without its module, and join later.
func (r *Reconciler) withoutModule(s *scope, doing string, err error) (reconcile.Progress, error) {
	if s.observed.Power != vcenter.PoweredOn {
		return r.refused(s, doing, err)
	}
	s.later = r.backOff(s, false)
	return reconcile.Proceed, nil
}

// leaveModule removes the machine from its module before it is destroyed. vCenter drops members that no longer exist, so
// failures do not block the deletion.
func (r *Reconciler) leaveModule(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.vm.Status.ModuleUUID == nil || !s.found {
		return reconcile.Proceed, nil
	}
	if err := s.session.LeaveModule(ctx, *s.vm.Status.ModuleUUID, s.observed.Ref); err != nil {
		r.warn(s, "ClusterModuleNotLeft", "Delete", "%v", err)
	}
	s.vm.Status.ModuleUUID = nil
	return reconcile.Proceed, nil
}

// modulesChanged passes VSphereClusters whose reason for having no modules changed. Recorded modules are part of the spec, and
// connection.Changed passes the reasons of each of several vCenters.
func modulesChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			ready := func(o client.Object) string {
				return conditions.GetReason(o.(*infrav1.VSphereCluster), infrav1.VSphereClusterClusterModulesReadyCondition)
			}
			return ready(e.ObjectOld) != ready(e.ObjectNew)
		},
	}
}
