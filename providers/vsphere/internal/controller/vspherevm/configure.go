// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// metadataHashAnnotation on a VSphereVM holds the hash of the network configuration last given to the guest.
const metadataHashAnnotation = "faultline.io/metadata-hash"

// ensureGroup adds the machine to the VM group of its failure domain before it is powered on, because the rule between the
// group and hosts takes effect when a host is chosen. It checks the membership in every reconcile, especially after power-on:
// vCenter replaces the members of a group as a whole, so a write of another management cluster may have removed the machine. A
// machine that already runs stays where it is: a missing group is reported in a separate condition and does not make it fail.
func (r *Reconciler) ensureGroup(ctx context.Context, s *scope) (reconcile.Progress, error) {
	group := s.vm.Spec.Placement.VMGroupName
	if group == "" {
		return reconcile.Proceed, nil
	}
	s.doing = join
	runs := s.observed.Power == vcenter.PoweredOn
	if !s.session.HasGroup(s.observed.ClusterRef, group) {
		message := groupNotFoundMessage(s, group)
		r.reportNotInGroup(s, infrav1.VSphereVMVMGroupNotFoundReason, message)
		if runs {
			return reconcile.Proceed, nil
		}
		r.fail(s, infrav1.VSphereVMVirtualMachineVMGroupNotFoundReason, message)
		return reconcile.Wait, nil
	}
	joined, err := s.session.JoinGroup(ctx, s.observed.ClusterRef, group, s.observed.Ref)
	switch {
	case joined:
		status.True(s.vm, infrav1.VSphereVMVMGroupJoinedCondition, infrav1.VSphereVMVMGroupJoinedReason)
		return reconcile.Proceed, nil
	case err != nil && runs:
		r.reportNotInGroup(s, groupReason(err), fmt.Sprintf("VM group %s: %v", group, err))
		s.later = r.backOff(s, false)
		return reconcile.Proceed, nil
	case err != nil:
		return r.refused(s, fmt.Sprintf("adding to VM group %s", group), err)
	case !runs:
		r.reportProgress(s, join, infrav1.VSphereVMVirtualMachineWaitingForVMGroupReason, fmt.Sprintf("Joining VM group %s", group))
		return reconcile.Wait, nil
	}
	return reconcile.Proceed, nil // the event that it has joined, or could not, follows
}

func groupNotFoundMessage(s *scope, group string) string {
	return fmt.Sprintf("compute cluster %s has no VM group %s visible to this account: create it and the rule that runs it on host group %s, or give the account read permission on the cluster",
		s.observed.Cluster, group, s.vm.Spec.Placement.HostGroupName)
}

func groupReason(err error) string {
	if errors.Is(err, vcenter.ErrForbidden) {
		return infrav1.PrivilegeMissingReason
	}
	return infrav1.VSphereVMVMGroupNotJoinedReason
}

// reportNotInGroup reports that nothing keeps the machine on the hosts of its failure domain.
func (r *Reconciler) reportNotInGroup(s *scope, reason, message string) {
	r.failAs(s, infrav1.VSphereVMVMGroupJoinedCondition, reason, message)
}

// ensureMetadata gives the guest its name and network. A machine that has never run always gets it: after a crash it is unknown
// whether it has it, and giving it twice is harmless.
func (r *Reconciler) ensureMetadata(ctx context.Context, s *scope) (reconcile.Progress, error) {
	hash, err := guestinfo.Hash(s.vm.Name, s.vm.Spec.Network)
	if err != nil {
		r.fail(s, infrav1.VSphereVMVirtualMachineInvalidSpecReason, err.Error())
		return reconcile.Wait, nil
	}
	neverRan := s.neverRan()
	hasIt := s.hasMetadata(hash)
	network, p, err := r.addressed(ctx, s, !neverRan, hasIt)
	if err != nil || p != reconcile.Proceed {
		return p, err
	}
	if hasIt || network == nil || s.finishedReason == infrav1.VSphereVMVirtualMachineConfiguringReason {
		return reconcile.Proceed, nil
	}
	if p, err := r.writeMetadata(ctx, s, network); err != nil || s.vm.Status.TaskRef == "" {
		return p, err
	}
	if !neverRan {
		metav1.SetMetaDataAnnotation(&s.vm.ObjectMeta, metadataHashAnnotation, hash)
	}
	return reconcile.Wait, nil
}

func (s *scope) neverRan() bool {
	return s.vm.Spec.BiosUUID == "" && s.observed.Power == vcenter.PoweredOff
}

// hasMetadata reports whether the guest was given the metadata with this hash. A machine without a hash is already running, or
// was taken over from another provider: its network is not changed until the spec changes.
func (s *scope) hasMetadata(hash string) bool {
	given := s.vm.Annotations[metadataHashAnnotation]
	return given == hash || given == "" && !s.neverRan()
}

// writeMetadata starts the task that writes the metadata, if possible.
func (r *Reconciler) writeMetadata(ctx context.Context, s *scope, network *infrav1.NetworkSpec) (reconcile.Progress, error) {
	s.doing = configure
	nics, err := s.session.NICs(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "reading network cards of", err)
	}
	metadata, err := guestinfo.Metadata(s.vm.Name, *network, virtualmachine.MACs(nics))
	if err != nil {
		r.fail(s, infrav1.VSphereVMVirtualMachineInvalidSpecReason, err.Error())
		return reconcile.Wait, nil
	}
	task, err := s.session.SetExtraConfig(ctx, s.observed.Ref, metadata)
	if err != nil {
		return r.refused(s, "writing metadata of", err)
	}
	r.recordTask(s, task, configure)
	r.reportProgress(s, configure, infrav1.VSphereVMVirtualMachineConfiguringReason, "")
	return reconcile.Wait, nil
}

// ensurePower powers on the machine, even if another client has powered it off.
func (r *Reconciler) ensurePower(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.observed.Power == vcenter.PoweredOn {
		return reconcile.Proceed, nil
	}
	if !s.observed.Connected() {
		reason, why := virtualmachine.Unmanageable(s.observed)
		r.fail(s, reason, fmt.Sprintf("%s: the virtual machine is off, and is powered on once this is fixed; or delete the Machine", why))
		return reconcile.Wait, nil
	}
	if why := s.session.StrandedOutside(s.observed, s.vm.Spec.Placement.HostGroupName); why != "" {
		r.fail(s, infrav1.VSphereVMVirtualMachineOutsideHostGroupReason, fmt.Sprintf(
			"Virtual machine %s: migrate it to a host of the group, or delete the Machine", why))
		return reconcile.Wait, nil
	}
	s.doing = powerOn
	task, err := s.session.PowerOn(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "powering on", err)
	}
	r.recordTask(s, task, powerOn)
	r.reportProgress(s, powerOn, infrav1.VSphereVMVirtualMachinePoweringOnReason, "")
	return reconcile.Wait, nil
}

// ensureTags attaches the tags of the spec once: a tag that an administrator detaches later stays detached.
func (r *Reconciler) ensureTags(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if len(s.vm.Spec.TagIDs) == 0 || s.vm.Spec.BiosUUID != "" {
		return reconcile.Proceed, nil
	}
	s.doing = tag
	err := s.session.AttachTags(ctx, s.observed.Ref, s.vm.Spec.TagIDs)
	ids := strings.Join(s.vm.Spec.TagIDs, ", ")
	switch {
	case err == nil:
		return reconcile.Proceed, nil
	case errors.Is(err, vcenter.ErrNotFound):
		return r.failAndRetry(s, infrav1.VSphereVMVirtualMachineTagNotFoundReason, fmt.Sprintf(
			"spec.tagIDs: %v: create the tag or remove it from the VSphereMachineTemplate", err)), nil
	case errors.Is(err, vcenter.ErrForbidden):
		return r.failAndRetry(s, infrav1.VSphereVMVirtualMachinePrivilegeMissingReason, fmt.Sprintf(
			"spec.tagIDs %s: %v: give the account %s, or remove the tags from the VSphereMachineTemplate", ids, err, taggingPrivileges)), nil
	case errors.Is(err, vcenter.ErrInvalid):
		return r.failAndRetry(s, infrav1.VSphereVMVirtualMachineTagRefusedReason, fmt.Sprintf(
			"spec.tagIDs %s: %v: the tags' categories must allow virtual machines, and only one tag per object if they are of single cardinality; "+
				"change the category, or remove the tag from the VSphereMachineTemplate", ids, err)), nil
	}
	return r.refused(s, "tagging", err)
}

// taggingPrivileges are named in messages because vCenter does not report which privilege is missing.
const taggingPrivileges = `the privileges "Assign or Unassign vSphere Tag" (InventoryService.Tagging.AttachTag) on the tags and ` +

	`"Assign or Unassign vSphere Tag on Object" (InventoryService.Tagging.ObjectAttachable) on its virtual machines`
