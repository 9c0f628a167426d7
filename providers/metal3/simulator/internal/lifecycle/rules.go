// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// attempts is how often deletion retries a failing operation before it skips it.
const attempts = 4

// restore restores the status of a host that was moved from another management cluster.
func restore(v View) (Step, bool) {
	restored, ok := backup(v.Host)
	if !ok {
		return Step{}, false
	}
	return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) { *status = restored }), true
}

// backup returns the status that a host without status had before it was moved.
func backup(host *bmov1alpha1.BareMetalHost) (bmov1alpha1.BareMetalHostStatus, bool) {
	saved := bmov1alpha1.BareMetalHostStatus{}
	text, ok := host.Annotations[bmov1alpha1.StatusAnnotation]
	if !ok || host.Status.LastUpdated != nil || host.Status.Provisioning.State != bmov1alpha1.StateNone {
		return saved, false
	}
	return saved, json.Unmarshal([]byte(text), &saved) == nil
}

// forgetBackup removes the annotation once the status is newer.
func forgetBackup(v View) (Step, bool) {
	_, ok := v.Host.Annotations[bmov1alpha1.StatusAnnotation]
	return Step{Drop: []string{bmov1alpha1.StatusAnnotation}}, ok && v.Host.Status.LastUpdated != nil
}

// finalize precedes all steps that would have to be reverted. A host that is being deleted without the finalizer is no longer
// managed.
func finalize(v View) (Step, bool) {
	ours := slices.Contains(v.Host.Finalizers, bmov1alpha1.BareMetalHostFinalizer)
	return Step{Finalize: !v.deleting()}, !ours
}

// recall copies the hardware details from the HardwareData to a status without them: a move does not include them.
func recall(v View) (Step, bool) {
	if v.Recorded == nil || v.Host.Status.HardwareDetails != nil || !known(v.state()) || v.deleting() {
		return Step{}, false
	}
	return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) { status.HardwareDetails = v.Recorded.DeepCopy() }), true
}

// describe copies hardware details from an annotation, which replaces an inspection.
func describe(v View) (Step, bool) {
	given, ok := v.Host.Annotations[bmov1alpha1.HardwareDetailsAnnotation]
	if !ok || !known(v.state()) || v.deleting() {
		return Step{}, false
	}
	details := &bmov1alpha1.HardwareDetails{}
	if err := json.Unmarshal([]byte(given), details); err != nil {
		return Step{}, false
	}
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) { status.HardwareDetails = details })
	s.Publish, s.Drop = true, []string{bmov1alpha1.HardwareDetailsAnnotation}
	return s, true
}

func known(state bmov1alpha1.ProvisioningState) bool {
	return state != bmov1alpha1.StateNone && state != bmov1alpha1.StateUnmanaged
}

// remove moves a host that is being deleted through the states of its deletion.
func remove(v View) (Step, bool) {
	if !v.deleting() || v.state() == bmov1alpha1.StateDeleting {
		return Step{}, false
	}
	if v.detached() {
		return v.removeDetached()
	}
	switch v.state() {
	case bmov1alpha1.StateDeprovisioning, bmov1alpha1.StatePoweringOffBeforeDelete:
		return Step{}, false
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged, bmov1alpha1.StateRegistering, bmov1alpha1.StateExternallyProvisioned:
		return v.enter(bmov1alpha1.StateDeleting, nothing), true
	case bmov1alpha1.StateProvisioning, bmov1alpha1.StateProvisioned:
		return v.startDeprovisioning(), true
	default:
		return v.enter(bmov1alpha1.StatePoweringOffBeforeDelete, succeed), true
	}
}

func (v View) detached() bool {
	return v.Host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached
}

// removeDetached does not change the machine of a detached host, unless the deletion must wait until the host is attached again.
// The operator rarely polls a detached host.
func (v View) removeDetached() (Step, bool) {
	arguments, annotated := detachment(v.Host)
	if !annotated || arguments.DeleteAction == bmov1alpha1.DetachedDeleteActionDelay {
		return Step{}, false
	}
	if !v.Due {
		return Step{Wait: true}, true
	}
	return v.enter(bmov1alpha1.StateDeleting, nothing), true
}

// detachment parses the annotation that detaches a host. A value that is not JSON has no arguments.
func detachment(host *bmov1alpha1.BareMetalHost) (arguments bmov1alpha1.DetachedAnnotationArguments, annotated bool) {
	value, annotated := host.Annotations[bmov1alpha1.DetachedAnnotation]
	if json.Unmarshal([]byte(value), &arguments) != nil {
		arguments = bmov1alpha1.DetachedAnnotationArguments{}
	}
	return arguments, annotated
}

// detach detaches a host in one of the states that allow it, and in any other if it is forced.
func detach(v View) (Step, bool) {
	arguments, wanted := detachment(v.Host)
	switch v.state() {
	case bmov1alpha1.StateProvisioned, bmov1alpha1.StateExternallyProvisioned, bmov1alpha1.StateAvailable, bmov1alpha1.StateReady:
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged, bmov1alpha1.StateDeleting:
		return Step{}, false
	default:
		wanted = wanted && arguments.Force
	}
	detached := v.detached()
	switch {
	case wanted && detached:
		return Step{}, true
	case wanted:
		return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
			clearError(status)
			status.OperationalStatus = bmov1alpha1.OperationalStatusDetached
		}), true
	case detached:
		return v.edit(clearError), true
	}
	return Step{}, false
}

// cutPower cuts the power of a machine. The status keeps poweredOn: the state of a machine whose BMC does not respond is unknown.
func cutPower(v View) (Step, bool) {
	switch {
	case v.Fault.Dark && v.Machine != Off:
		return Step{Machine: Off}, true
	case v.Fault.Off && (v.Machine != Off || v.Host.Status.PoweredOn):
		s := v.Fail(bmov1alpha1.PowerManagementError, v.Fault.Message)
		s.Machine, s.Status.PoweredOn = Off, false
		return s, true
	}
	return Step{}, false
}

// fitArchitecture writes the processor architecture from the HardwareData to the spec unless it is set.
func fitArchitecture(v View) (Step, bool) {
	hardware := v.Host.Status.HardwareDetails
	if v.Host.Spec.Architecture != "" || hardware == nil || hardware.CPU.Arch == "" || v.deleting() {
		return Step{}, false
	}
	return Step{Architecture: hardware.CPU.Arch}, true
}

// authenticate detects that the BMC credentials are missing, restored or changed. A host that is being deleted does not need
// them.
func authenticate(v View) (Step, bool) {
	status := &v.Host.Status
	switch {
	case v.deleting() || !v.Host.HasBMCDetails():
		return Step{}, false
	case v.Secret == "":
		message := fmt.Sprintf("BMC Secret %s does not exist", v.Host.CredentialsKey())
		if status.ErrorType == bmov1alpha1.RegistrationError && status.ErrorMessage == message {
			return Step{}, true
		}
		return v.Fail(bmov1alpha1.RegistrationError, message), true
	case !known(v.state()) || v.state() == bmov1alpha1.StateRegistering:
		return Step{}, false
	case status.GoodCredentials.Version == v.Secret && status.ErrorType != bmov1alpha1.RegistrationError:
		return Step{}, false
	}
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		status.TriedCredentials, status.GoodCredentials = v.credentials(), v.credentials()
		if status.ErrorType == bmov1alpha1.RegistrationError {
			succeed(status)
		}
	})
	s.Events = []Event{normal("BMCAccessValidated", "Verified access to BMC")}
	return s, true
}

func (v View) credentials() bmov1alpha1.CredentialsStatus {
	key := v.Host.CredentialsKey()
	return bmov1alpha1.CredentialsStatus{
		Reference: &corev1.SecretReference{Namespace: key.Namespace, Name: key.Name}, Version: v.Secret,
	}
}
