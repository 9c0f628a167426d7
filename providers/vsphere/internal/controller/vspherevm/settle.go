// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// metadataHashAnnotation tells which network configuration the guest was given last.
const metadataHashAnnotation = "vspherevm.infrastructure.cluster.x-k8s.io/metadata-hash"

// ensureGroup puts the machine into its failure domain's VM group before it is powered on, because the rule that binds
// the group to hosts acts when a host is chosen.
func (r *Reconciler) ensureGroup(ctx context.Context, s *scope) (progress, error) {
	group := s.vm.Spec.Placement.VMGroupName
	if group == "" {
		return proceed, nil
	}
	joined, err := s.session.JoinGroup(ctx, s.observed.ClusterRef, group, s.observed.Ref)
	if err != nil {
		return r.refused(s, fmt.Sprintf("adding to VM group %s", group), err)
	}
	if !joined {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineWaitingForVMGroupReason, fmt.Sprintf("Joining VM group %s", group))
		return wait, nil
	}
	return proceed, nil
}

// ensureMetadata hands the guest its name and network. A machine that has never run gets it in any case: nothing tells
// after a crash whether it has it, and giving it twice does no harm.
func (r *Reconciler) ensureMetadata(ctx context.Context, s *scope) (progress, error) {
	hash, err := guestinfo.Hash(s.vm.Name, s.vm.Spec.Network)
	if err != nil {
		r.fail(s, infrav1.VSphereVMVirtualMachineInvalidSpecReason, err.Error())
		return wait, nil
	}
	if s.vm.Annotations[metadataHashAnnotation] == hash {
		return proceed, nil
	}
	if s.finishedReason == infrav1.VSphereVMVirtualMachineConfiguringReason {
		return proceed, nil
	}
	neverRan := s.vm.Spec.BiosUUID == "" && s.observed.Power == vcenter.PoweredOff
	knowsNoHash := s.vm.Annotations[metadataHashAnnotation] == ""
	if knowsNoHash && !neverRan {
		// Already running, or taken over from another provider: its network is not touched until the spec changes.
		return proceed, nil
	}
	nics, err := s.session.NICs(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "reading network cards of", err)
	}
	metadata, err := guestinfo.Metadata(s.vm.Name, s.vm.Spec.Network, macs(nics))
	if err != nil {
		r.fail(s, infrav1.VSphereVMVirtualMachineInvalidSpecReason, err.Error())
		return wait, nil
	}
	task, err := s.session.SetExtraConfig(ctx, s.observed.Ref, metadata)
	if err != nil {
		return r.refused(s, "writing metadata of", err)
	}
	r.started(s, task, configure)
	setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineConfiguringReason, "")
	if !neverRan {
		metav1.SetMetaDataAnnotation(&s.vm.ObjectMeta, metadataHashAnnotation, hash)
	}
	return wait, nil
}

func macs(nics []vcenter.NIC) []string {
	addresses := make([]string, len(nics))
	for i := range nics {
		addresses[i] = nics[i].MAC
	}
	return addresses
}

// ensurePower powers the machine on, also when somebody has powered it off.
func (r *Reconciler) ensurePower(ctx context.Context, s *scope) (progress, error) {
	if s.observed.Power == vcenter.PoweredOn {
		return proceed, nil
	}
	if !s.observed.Connected {
		r.fail(s, infrav1.VSphereVMVirtualMachineWaitingForHostReason, fmt.Sprintf(
			"Virtual machine is off, and vCenter has lost its host %s or its files: it is powered on when they are back", s.observed.Host))
		return wait, nil
	}
	task, err := s.session.PowerOn(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "powering on", err)
	}
	r.started(s, task, powerOn)
	setProvisioned(s.vm, infrav1.VSphereVMVirtualMachinePoweringOnReason, "")
	return wait, nil
}

// ensureTags attaches the tags of the spec once: what an administrator detaches later stays detached.
func (r *Reconciler) ensureTags(ctx context.Context, s *scope) (progress, error) {
	if len(s.vm.Spec.TagIDs) == 0 || s.vm.Spec.BiosUUID != "" {
		return proceed, nil
	}
	if err := s.session.AttachTags(ctx, s.observed.Ref, s.vm.Spec.TagIDs); err != nil {
		if errors.Is(err, vcenter.ErrNotFound) {
			r.fail(s, infrav1.VSphereVMVirtualMachineTagNotFoundReason, fmt.Sprintf("spec.tagIDs: %v: create the tag or take it off the VSphereMachineTemplate", err))
			return progress{after: r.RetryAfter}, nil
		}
		return wait, fmt.Errorf("tagging virtual machine %s: %w", s.vm.Name, err)
	}
	return proceed, nil
}
