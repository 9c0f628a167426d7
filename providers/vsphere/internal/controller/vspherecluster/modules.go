// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/clustermodule"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// moduleRetry is the retry interval after vCenter has rejected an operation on cluster modules, as no event reports a change.
const moduleRetry = time.Minute

// modulePrivilege is named in messages because vCenter does not report which privilege is missing.
const modulePrivilege = "the privilege \"Modify cluster\" (Host.Inventory.EditCluster) on the compute cluster"

// ensureModules ensures a cluster module for the machines of each target in each compute cluster. Problems are reported in the
// condition only and block nothing else.
func (r *Reconciler) ensureModules(ctx context.Context, s *scope, session *vcenter.Session) (again time.Duration, err error) {
	off := ptr.Deref(s.cluster.Spec.DisableClusterModule, false)
	switch {
	case !r.ClusterModules, off && len(s.cluster.Spec.ClusterModules) == 0 && s.cluster.Annotations[creatingModuleAnnotation] == "":
		conditions.Delete(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition)
		return 0, nil
	case !session.HasModules():
		status.False(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterModulesInvalidVCenterVersionReason, fmt.Sprintf(
			"vCenter %s has version %s, but cluster modules require 7: upgrade it, or set spec.disableClusterModule", s.cluster.Spec.Server, session.Version()))
		return 0, nil
	}
	if err := r.dropModulesOfOthers(ctx, s); err != nil {
		return 0, err
	}
	var targets []clustermodule.Target
	var wanted []clustermodule.Wanted
	if !off {
		if targets, wanted, err = r.moduleTargets(ctx, s, session); err != nil {
			return 0, err
		}
	}
	refused, err := r.reconcileModules(ctx, s, session, targets, wanted)
	switch {
	case err != nil:
		return 0, err
	case refused != nil:
		r.modulesRefused(s, refused)
		return moduleRetry, nil
	case off:
		conditions.Delete(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition)
	default:
		status.True(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesReadyReason)
	}
	return 0, nil
}

func (r *Reconciler) modulesRefused(s *scope, refused error) {
	message := strings.ReplaceAll(refused.Error(), "\n", "; ")
	if errors.Is(refused, vcenter.ErrForbidden) {
		message += ": give the account " + modulePrivilege + ", or set spec.disableClusterModule"
	}
	status.False(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesNotReadyReason, message)
}

// moduleTargets returns the owners that may have modules, and the modules that their machines need.
func (r *Reconciler) moduleTargets(ctx context.Context, s *scope, session *vcenter.Session) ([]clustermodule.Target, []clustermodule.Wanted, error) {
	var targets []clustermodule.Target
	controlPlane := s.owner.Spec.ControlPlaneRef.Name
	if controlPlane != "" {
		targets = append(targets, clustermodule.Target{ControlPlane: true, Name: controlPlane})
	}
	deployments, vms := &clusterv1.MachineDeploymentList{}, &infrav1.VSphereVMList{}
	ours := watch.OfInfrastructure(s.cluster)
	for _, list := range []client.ObjectList{deployments, vms} {
		if err := r.Client.List(ctx, list, ours, client.UnsafeDisableDeepCopy); err != nil { // read-only
			return nil, nil, fmt.Errorf("listing owners of cluster modules: %w", err)
		}
	}
	for i := range deployments.Items {
		targets = append(targets, clustermodule.Target{Name: deployments.Items[i].Name})
	}
	var wanted []clustermodule.Wanted
	for i := range vms.Items {
		vm := &vms.Items[i]
		target, has := clustermodule.TargetOf(vm, s.cluster, controlPlane)
		if !has || !vm.DeletionTimestamp.IsZero() || vm.Status.VMRef == "" {
			continue
		}
		if seen, there := session.VMByRef(vm.Status.VMRef); there && seen.ClusterRef != "" {
			wanted = append(wanted, clustermodule.Wanted{Target: target, Compute: seen.ClusterRef})
		}
	}
	return targets, wanted, nil
}

// reconcileModules creates missing modules and deletes unused ones. It returns what vCenter rejected separately from other errors.
func (r *Reconciler) reconcileModules(
	ctx context.Context, s *scope, session *vcenter.Session, targets []clustermodule.Target, wanted []clustermodule.Wanted,
) (refused, err error) {
	if refused, err := r.resumeModule(ctx, s, session); refused != nil || err != nil {
		return refused, err
	}
	if len(s.cluster.Spec.ClusterModules)+len(wanted) == 0 {
		return nil, nil
	}
	where, refused := r.presentModules(ctx, s, session)
	if refused != nil {
		return refused, nil
	}
	plan := clustermodule.Decide(s.cluster.Spec.ClusterModules, targets, wanted, where)
	s.cluster.Spec.ClusterModules = plan.Keep
	for _, module := range plan.Remove {
		if err := r.deleteModule(ctx, s, session, module.ModuleUUID); err != nil {
			refused = errors.Join(refused, err)
			s.cluster.Spec.ClusterModules = append(s.cluster.Spec.ClusterModules, module) // keep it recorded
		}
	}
	for _, want := range plan.Create {
		no, err := r.createModule(ctx, s, session, want)
		if err != nil {
			return nil, err
		}
		refused = errors.Join(refused, no)
	}
	return refused, nil
}

// presentModules removes modules from the spec that vCenter reports as not found: that an account cannot see a module is no
// proof. It makes no call if all recorded modules are cached.
func (r *Reconciler) presentModules(ctx context.Context, s *scope, session *vcenter.Session) (clustermodule.Where, error) {
	var recorded []string
	for _, module := range s.cluster.Spec.ClusterModules {
		recorded = append(recorded, module.ModuleUUID)
	}
	where, err := session.Modules(ctx, recorded...)
	if err != nil {
		return nil, err
	}
	var present []infrav1.ClusterModule
	for _, module := range s.cluster.Spec.ClusterModules {
		if where[module.ModuleUUID] == "" {
			if _, err := session.ModuleMembers(ctx, module.ModuleUUID); errors.Is(err, vcenter.ErrNotFound) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		present = append(present, module)
	}
	s.cluster.Spec.ClusterModules = present
	return where, nil
}

// removeModules deletes the modules of a cluster in deletion, including those created by another manager. It waits for vCenter,
// because nothing else would ever delete them.
func (r *Reconciler) removeModules(ctx context.Context, s *scope) (again time.Duration, done bool, err error) {
	if err := r.dropModulesOfOthers(ctx, s); err != nil {
		return 0, false, err
	}
	if len(s.cluster.Spec.ClusterModules) == 0 && s.cluster.Annotations[creatingModuleAnnotation] == "" {
		return 0, true, nil
	}
	session, err := r.VCenters.ForCluster(ctx, s.cluster)
	if err != nil {
		if !connection.Waits(err) {
			return 0, false, err
		}
		status.False(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesDeletingReason, fmt.Sprintf(
			"Cluster modules cannot be deleted: %v: make vCenter available, or remove them from spec.clusterModules and delete them manually", err))
		return connection.RetryAfter(err), false, nil
	}
	refused, err := r.reconcileModules(ctx, s, session, nil, nil)
	if refused != nil {
		status.False(s.cluster, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesDeletingReason, fmt.Sprintf(
			"Cluster modules cannot be deleted: %v: give the account %s, or remove them from spec.clusterModules and delete them manually", refused, modulePrivilege))
		return moduleRetry, false, nil
	}
	return 0, err == nil, err
}

// ownerChanged passes VSphereVMs whose owner label was added or changed, as it is for those created by upstream. Running
// machines wait for nothing.
func ownerChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetLabels()[clusterv1.MachineDeploymentNameLabel] != e.ObjectNew.GetLabels()[clusterv1.MachineDeploymentNameLabel]
		},
	}
}

func waitsForModule(vm *infrav1.VSphereVM) string {
	reason := conditions.GetReason(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)
	if reason != infrav1.VSphereVMVirtualMachineWaitingForClusterModuleReason {
		return ""
	}
	return reason
}
