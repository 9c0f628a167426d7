// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// ensureVM clones the template unless the virtual machine exists.
func (r *Reconciler) ensureVM(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.found {
		return r.awaitUUIDs(s), nil
	}
	if p, err := r.mayCreate(ctx, s); err != nil || p != reconcile.Proceed {
		return p, err
	}
	if device, missing := virtualmachine.WithoutAddress(s.vm.Spec.Network.Devices); missing {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineWaitingForStaticIPAllocationReason, fmt.Sprintf(
			"spec.network.devices[%d] has neither dhcp4, dhcp6, ipAddrs, addressesFromPools nor skipIPAllocation", device))
		return reconcile.Wait, nil
	}
	if p, err := r.awaitAddresses(ctx, s); err != nil || p != reconcile.Proceed {
		return p, err
	}
	extraConfig, ready, err := r.bootstrap(ctx, s)
	if err != nil || !ready {
		return reconcile.Wait, err
	}
	spec, err := cloneSpec(ctx, s, extraConfig)
	if err != nil {
		return r.invalid(s, err)
	}
	if namesake, taken := s.session.VMInFolder(spec.Placement.FolderRef, spec.Name); taken {
		return r.nameExists(s, namesake)
	}
	return r.clone(ctx, s, spec)
}

// invalid handles a specification that cannot be fulfilled. Most of it depends on the inventory, whose changes are reported by
// events; vCenter's storage policies are not, and are checked again with backoff.
func (r *Reconciler) invalid(s *scope, err error) (reconcile.Progress, error) {
	switch {
	case errors.Is(err, vcenter.ErrUnavailable):
		return r.busy(s, fmt.Errorf("preparing to clone virtual machine %s: %w", s.vm.Name, err)), nil
	case !virtualmachine.UserMistake(err):
		return reconcile.Wait, err
	case virtualmachine.NoEventFollows(err):
		return r.failAndRetry(s, virtualmachine.InvalidReason(err), err.Error()), nil
	}
	r.fail(s, virtualmachine.InvalidReason(err), err.Error())
	return reconcile.Wait, nil
}

// awaitUUIDs waits until vCenter reports a new machine completely.
func (r *Reconciler) awaitUUIDs(s *scope) reconcile.Progress {
	if s.vm.Spec.BiosUUID != "" || s.observed.Whole() {
		return reconcile.Proceed
	}
	return r.unfinished(s, s.observed)
}

// nameExists handles a name that exists in the folder. A machine without UUIDs may be our own, from a clone that was not
// recorded.
func (r *Reconciler) nameExists(s *scope, namesake vcenter.VM) (reconcile.Progress, error) {
	if namesake.Whole() {
		return r.nameConflict(s)
	}
	return r.unfinished(s, namesake), nil
}

// unfinished waits for the UUIDs of a virtual machine that is, or may be, the VSphereVM's.
func (r *Reconciler) unfinished(s *scope, vm vcenter.VM) reconcile.Progress {
	setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineWaitingForCloneReason, fmt.Sprintf(
		"vCenter shows virtual machine %s without UUIDs: if this persists, its host cannot read its files", virtualmachine.Paths([]vcenter.VM{vm})))
	return reconcile.Retry(r.RetryAfter)
}

// clone records its intent before it starts the clone. After a crash in between, the next manager finds the virtual machine by
// its instance UUID, and a deletion looks for it.
func (r *Reconciler) clone(ctx context.Context, s *scope, spec vcenter.CloneSpec) (reconcile.Progress, error) {
	mode := infrav1.FullClone
	if spec.Linked {
		mode = infrav1.LinkedClone
	}
	again := r.failing(s, clone)
	r.reportProgress(s, clone, infrav1.VSphereVMVirtualMachineWaitingForCloneReason, "")
	first := s.vm.Status.CloneMode == ""
	if s.vm.Status.CloneMode != mode || s.vm.Status.TemplateRef != spec.Template.Ref {
		s.vm.Status.CloneMode, s.vm.Status.Snapshot, s.vm.Status.TemplateRef = mode, spec.Snapshot, spec.Template.Ref
		if err := s.patch.StoreSpec(ctx, r.Client, s.vm); err != nil { // without the finalizer nothing would delete the virtual machine
			return reconcile.Wait, err
		}
		if err := r.save(ctx, s); err != nil {
			return reconcile.Wait, err
		}
	}
	task, err := s.session.CloneVM(ctx, spec)
	if first && virtualmachine.UserMistake(err) {
		// vCenter rejected the clone, and no earlier attempt can have created a machine: a deletion need not look for one.
		s.vm.Status.CloneMode, s.vm.Status.Snapshot, s.vm.Status.TemplateRef = "", "", ""
	}
	if err != nil {
		return r.refused(s, "cloning", err)
	}
	if r.recordTask(s, task, clone); !again {
		r.event(s, "Cloning", "Clone", "Cloning template %s", s.vm.Spec.Template)
		if why := spec.Placement.PoolMissed; why != "" {
			r.warn(s, "ResourcePoolNotUsed", "Clone", "The virtual machine is created in the root resource pool of compute cluster %s: spec.%s. Set the pool in "+
				"placementConstraint.resourcePool of the VSphereDeploymentZone, or correct the VSphereMachineTemplate", s.vm.Spec.Placement.ComputeCluster, why)
		}
	}
	return reconcile.Wait, nil
}

// refused handles a call that vCenter rejected. Problems that need a fix are reported, and retried with backoff because no
// event may report the fix. A busy vCenter is retried soon. All other errors are retried by the workqueue.
func (r *Reconciler) refused(s *scope, doing string, err error) (reconcile.Progress, error) {
	err = fmt.Errorf("%s virtual machine %s: %w", doing, s.vm.Name, err)
	switch {
	case errors.Is(err, vcenter.ErrUnavailable):
		return r.busy(s, err), nil
	case errors.Is(err, vcenter.ErrDuplicateName) && !s.found:
		return r.nameConflict(s)
	case virtualmachine.Already(s.doing, err):
		return reconcile.Retry(r.RetryAfter), nil // the event that the inventory shows the machine follows
	case virtualmachine.UserMistake(err):
		if why, ok := virtualmachine.HardwareRefused(s.vm.Spec, s.observed.Cluster, s.doing, err); ok {
			return r.failAndRetry(s, why.Reason, why.Message), nil
		}
		return r.failAndRetry(s, virtualmachine.InvalidReason(err), err.Error()), nil
	}
	return reconcile.Wait, err
}

// bootstrap returns the bootstrap data of the machine. Without a bootstrapRef the template needs none.
func (r *Reconciler) bootstrap(ctx context.Context, s *scope) (map[string]string, bool, error) {
	name := s.vm.Spec.BootstrapRef.Name
	if name == "" {
		return nil, true, nil
	}
	secret, err := r.bootstrapSecret(ctx, s.vm)
	if err != nil {
		return nil, false, err
	}
	if secret == nil {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineWaitingForBootstrapDataReason, fmt.Sprintf(
			"Secret %s/%s with the bootstrap data does not exist", s.vm.Namespace, name))
		return nil, false, nil
	}
	data, err := guestinfo.Bootstrap(string(secret.Data["format"]), secret.Data["value"])
	if err != nil {
		r.fail(s, infrav1.VSphereVMVirtualMachineInvalidSpecReason, fmt.Sprintf("Secret %s/%s: %v", s.vm.Namespace, name, err))
		return nil, false, nil
	}
	return data, true, nil
}

// bootstrapSecret returns the Secret of the bootstrap data, or nil if it does not exist.
func (r *Reconciler) bootstrapSecret(ctx context.Context, vm *infrav1.VSphereVM) (*corev1.Secret, error) {
	return reconcile.Find(ctx, r.Secrets, client.ObjectKey{Namespace: vm.Namespace, Name: vm.Spec.BootstrapRef.Name}, &corev1.Secret{})
}

// cloneSpec resolves all names in the inventory. Its error joins all problems, not only the first.
func cloneSpec(ctx context.Context, s *scope, extraConfig map[string]string) (vcenter.CloneSpec, error) {
	spec := s.vm.Spec
	placement, policies, policyErr := storage(ctx, s)
	template, templateErr := s.session.Template(spec.Datacenter, spec.Template)
	if policyErr != nil {
		return vcenter.CloneSpec{}, errors.Join(policyErr, templateErr)
	}
	resolved, placementErr := s.session.Resolve(placement)
	if err := errors.Join(placementErr, templateErr); err != nil {
		return vcenter.CloneSpec{}, err
	}
	linked := false
	if spec.CloneMode != infrav1.FullClone { // upstream's default: linked if there is a snapshot and the storage supports it
		var err error
		if linked, err = s.session.LinkedPossible(ctx, template, spec.Snapshot, resolved); err != nil {
			return vcenter.CloneSpec{}, err
		}
	}
	return virtualmachine.CloneSpec(s.vm, virtualmachine.Found{
		Template: template, Placement: resolved, Linked: linked, Policies: policies, ExtraConfig: extraConfig,
	}), nil
}
