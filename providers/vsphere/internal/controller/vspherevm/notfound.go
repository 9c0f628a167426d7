// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// identify identifies the virtual machine. It stores the reference before anything else is done, so that from then on the
// virtual machine cannot be confused with another.
func (r *Reconciler) identify(ctx context.Context, s *scope) error {
	there := s.session.Candidates(string(s.vm.UID), s.vm.Spec.BiosUUID, s.vm.Status.VMRef)
	candidates := make([]virtualmachine.Candidate, len(there))
	for i := range there {
		candidates[i].VM = there[i]
	}
	s.verdict = virtualmachine.Identify(s.vm, candidates)
	if unproven := s.verdict.Unproven(s.vm); len(unproven) > 0 {
		booted, err := r.booted(ctx, s, unproven)
		if err != nil {
			return err
		}
		for i := range candidates {
			candidates[i].Booted = booted[candidates[i].Ref]
		}
		s.verdict = virtualmachine.Identify(s.vm, candidates)
	}
	if s.verdict.Ours == nil {
		return nil
	}
	if s.vm.Status.TaskOperation == destroy && s.verdict.Ours.Ref != s.vm.Status.VMRef {
		return nil // the recorded machine is being deleted; no other is deleted after it
	}
	s.observed, s.found = *s.verdict.Ours, true
	unrecorded := s.vm.Spec.BiosUUID != "" && s.vm.Status.VMRef == ""
	s.vm.Status.VMRef = s.observed.Ref
	if unrecorded {
		return r.save(ctx, s)
	}
	return nil
}

// booted returns which virtual machines contain the bootstrap data from the VSphereVM's Secret, which only the creator of the
// machine can have set.
func (r *Reconciler) booted(ctx context.Context, s *scope, vms []vcenter.VM) (map[string]bool, error) {
	secret, err := r.bootstrapSecret(ctx, s.vm)
	if err != nil || secret == nil {
		return nil, err
	}
	data, err := guestinfo.Bootstrap(string(secret.Data["format"]), secret.Data["value"])
	if err != nil {
		return nil, nil //nolint:nilerr // no machine was made with it
	}
	booted := map[string]bool{}
	for i := range vms {
		settings, err := s.session.ExtraConfig(ctx, vms[i].Ref)
		if err != nil && !errors.Is(err, vcenter.ErrNotFound) {
			return nil, fmt.Errorf("identifying virtual machine %s: %w", s.vm.Name, err)
		}
		booted[vms[i].Ref] = guestinfo.Has(settings, data)
	}
	return booted, nil
}

// mayCreate proceeds if there is no virtual machine and one may be created: none was created before, or it was deleted before it
// was ready. Otherwise it reports why there is no virtual machine.
func (r *Reconciler) mayCreate(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if len(s.verdict.Rivals) > 0 {
		return r.reportAmbiguous(s), nil
	}
	if s.vm.Status.VMRef != "" {
		exists, err := s.session.Exists(ctx, s.vm.Status.VMRef)
		if err != nil {
			return r.refused(s, "looking up", err)
		}
		if exists {
			return r.reportNotVisible(s), nil
		}
	}
	switch {
	case s.vm.Spec.BiosUUID != "" && s.vm.Status.VMRef == "" && len(s.verdict.Strangers) > 0:
		return r.reportNotIdentified(s), nil
	case s.vm.Spec.BiosUUID != "":
		return r.reportNotFound(s), nil
	case s.vm.Status.VMRef != "":
		s.vm.Status.VMRef = ""
		return reconcile.Proceed, r.save(ctx, s) // otherwise a deletion could mistake the next one for the deleted one
	}
	return reconcile.Proceed, nil
}

func (r *Reconciler) reportNotFound(s *scope) reconcile.Progress {
	s.vm.Status.Ready = ptr.To(false)
	message := fmt.Sprintf("vCenter %s has no virtual machine with BIOS UUID %s: it was deleted outside Cluster API and is not recreated; delete the Machine",
		s.vm.Spec.Server, s.vm.Spec.BiosUUID)
	if len(s.verdict.Strangers) > 0 {
		message = fmt.Sprintf("Virtual machine %s with BIOS UUID %s was deleted in vCenter outside Cluster API and is not recreated; delete the Machine. %s may be a copy and is not changed; if it is the original, registered again, remove status.vmRef of the VSphereVM",
			s.vm.Status.VMRef, s.vm.Spec.BiosUUID, virtualmachine.Paths(s.verdict.Strangers))
	}
	r.fail(s, infrav1.VSphereVMVirtualMachineNotFoundByBIOSUUIDReason, message)
	return reconcile.Wait
}

// reportAmbiguous waits for the event that one of the virtual machines was deleted or has other identifiers.
func (r *Reconciler) reportAmbiguous(s *scope) reconcile.Progress {
	r.fail(s, infrav1.VSphereVMVirtualMachineAmbiguousReason, fmt.Sprintf(
		"Each of %s may be this VSphereVM's virtual machine, so none is changed: remove the copies from vCenter's inventory, or give them other BIOS UUIDs",
		virtualmachine.Paths(s.verdict.Rivals)))
	return reconcile.Wait
}

// reportNotIdentified waits for the event that the notes have changed.
func (r *Reconciler) reportNotIdentified(s *scope) reconcile.Progress {
	message := fmt.Sprintf("Nothing proves that %s is this VSphereVM's virtual machine, so it is not changed: if it is, add the line %q to its notes in vCenter",
		virtualmachine.Paths(s.verdict.Strangers), virtualmachine.Marker(s.vm))
	if s.vm.Status.VMRef != "" { // a restored vCenter reuses references
		message += "; if this VSphereVM's own no longer exists, remove status.vmRef of the VSphereVM"
	}
	r.fail(s, infrav1.VSphereVMVirtualMachineNotIdentifiedReason, message)
	return reconcile.Wait
}

// reportNotVisible handles a recorded reference that exists in vCenter, but is not visible or belongs to another owner's machine.
func (r *Reconciler) reportNotVisible(s *scope) reconcile.Progress {
	if _, shown := s.session.VMByRef(s.vm.Status.VMRef); shown {
		return r.reportNotIdentified(s)
	}
	r.fail(s, infrav1.VSphereVMVirtualMachineNotVisibleReason, fmt.Sprintf(
		"vCenter has virtual machine %s but does not show it in any folder: give the account read permission on it, or move it out of its vApp", s.vm.Status.VMRef))
	return reconcile.Retry(r.RetryAfter)
}
