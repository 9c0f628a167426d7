// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// attempts is how often deletion tries an operation that fails before it goes on without.
const attempts = 3

// restore takes the status of a host that was moved from another management cluster.
func restore(v view) (step, bool) {
	restored, ok := backup(v.host)
	if !ok {
		return step{}, false
	}
	return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) { *status = restored }), true
}

// backup is the status that a host without one had before it was moved.
func backup(host *bmov1alpha1.BareMetalHost) (bmov1alpha1.BareMetalHostStatus, bool) {
	saved := bmov1alpha1.BareMetalHostStatus{}
	text, ok := host.Annotations[bmov1alpha1.StatusAnnotation]
	if !ok || host.Status.LastUpdated != nil || host.Status.Provisioning.State != bmov1alpha1.StateNone {
		return saved, false
	}
	return saved, json.Unmarshal([]byte(text), &saved) == nil
}

// forgetBackup drops the annotation once the status is more recent than it.
func forgetBackup(v view) (step, bool) {
	_, ok := v.host.Annotations[bmov1alpha1.StatusAnnotation]
	return step{drop: []string{bmov1alpha1.StatusAnnotation}}, ok && v.host.Status.LastUpdated != nil
}

// finalize comes before everything that would have to be undone. A host that is being deleted without the finalizer is
// no longer ours.
func finalize(v view) (step, bool) {
	ours := slices.Contains(v.host.Finalizers, bmov1alpha1.BareMetalHostFinalizer)
	return step{finalize: !v.deleting()}, !ours
}

// recall takes the hardware from the HardwareData of a host whose status has none: moving a host leaves it out.
func recall(v view) (step, bool) {
	if v.recorded == nil || v.host.Status.HardwareDetails != nil || !known(v.state()) || v.deleting() {
		return step{}, false
	}
	return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) { status.HardwareDetails = v.recorded.DeepCopy() }), true
}

// describe takes the hardware that an annotation gives in place of an inspection.
func describe(v view) (step, bool) {
	given, ok := v.host.Annotations[bmov1alpha1.HardwareDetailsAnnotation]
	if !ok || !known(v.state()) || v.deleting() {
		return step{}, false
	}
	details := &bmov1alpha1.HardwareDetails{}
	if err := json.Unmarshal([]byte(given), details); err != nil {
		return step{}, false
	}
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) { status.HardwareDetails = details })
	s.publish, s.drop = true, []string{bmov1alpha1.HardwareDetailsAnnotation}
	return s, true
}

func known(state bmov1alpha1.ProvisioningState) bool {
	return state != bmov1alpha1.StateNone && state != bmov1alpha1.StateUnmanaged
}

// remove leads a host that is being deleted to its end, by way of its states for leaving.
func remove(v view) (step, bool) {
	if !v.deleting() {
		return step{}, false
	}
	switch v.state() {
	case bmov1alpha1.StateDeprovisioning, bmov1alpha1.StatePoweringOffBeforeDelete, bmov1alpha1.StateDeleting:
		return step{}, false
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged, bmov1alpha1.StateRegistering, bmov1alpha1.StateExternallyProvisioned:
		return v.enter(bmov1alpha1.StateDeleting, nothing), true
	case bmov1alpha1.StateProvisioning, bmov1alpha1.StateProvisioned:
		return v.removeProvisioned(), true
	default:
		return v.enter(bmov1alpha1.StatePoweringOffBeforeDelete, succeed), true
	}
}

// removeProvisioned leaves a detached host as it is, or waits until it is detached no longer.
func (v view) removeProvisioned() step {
	if v.host.Status.OperationalStatus != bmov1alpha1.OperationalStatusDetached {
		return v.startDeprovisioning()
	}
	arguments := bmov1alpha1.DetachedAnnotationArguments{}
	annotation, detached := v.host.Annotations[bmov1alpha1.DetachedAnnotation]
	_ = json.Unmarshal([]byte(annotation), &arguments)
	switch {
	case !detached:
		return v.edit(clearError)
	case arguments.DeleteAction == bmov1alpha1.DetachedDeleteActionDelay:
		return step{}
	}
	return v.enter(bmov1alpha1.StateDeleting, nothing)
}

// detach lets go of a host in one of the states where it may stay alone.
func detach(v view) (step, bool) {
	switch v.state() {
	case bmov1alpha1.StateProvisioned, bmov1alpha1.StateExternallyProvisioned, bmov1alpha1.StateAvailable, bmov1alpha1.StateReady:
	default:
		return step{}, false
	}
	_, wanted := v.host.Annotations[bmov1alpha1.DetachedAnnotation]
	detached := v.host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached
	switch {
	case wanted && detached:
		return step{}, true
	case wanted:
		return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
			clearError(status)
			status.OperationalStatus = bmov1alpha1.OperationalStatusDetached
		}), true
	case detached:
		return v.edit(clearError), true
	}
	return step{}, false
}

// darken tells that a machine has lost its power.
func darken(v view) (step, bool) {
	if !v.fault.dark || v.machine == off && !v.host.Status.PoweredOn {
		return step{}, false
	}
	s := v.fail(bmov1alpha1.PowerManagementError, v.fault.message)
	s.machine, s.status.PoweredOn = off, false
	return s, true
}

// authenticate notices that the BMC's credentials are missing, back, or others than before. A host that is being deleted
// does without.
func authenticate(v view) (step, bool) {
	status := &v.host.Status
	switch {
	case v.deleting() || !v.host.HasBMCDetails():
		return step{}, false
	case v.secret == "":
		message := fmt.Sprintf("BMC Secret %s does not exist", v.host.CredentialsKey())
		if status.ErrorType == bmov1alpha1.RegistrationError && status.ErrorMessage == message {
			return step{}, true
		}
		return v.fail(bmov1alpha1.RegistrationError, message), true
	case !known(v.state()) || v.state() == bmov1alpha1.StateRegistering:
		return step{}, false
	case status.GoodCredentials.Version == v.secret && status.ErrorType != bmov1alpha1.RegistrationError:
		return step{}, false
	}
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		status.TriedCredentials, status.GoodCredentials = v.credentials(), v.credentials()
		if status.ErrorType == bmov1alpha1.RegistrationError {
			succeed(status)
		}
	})
	s.events = []happening{normal("BMCAccessValidated", "Verified access to BMC")}
	return s, true
}

func (v view) credentials() bmov1alpha1.CredentialsStatus {
	key := v.host.CredentialsKey()
	return bmov1alpha1.CredentialsStatus{
		Reference: &corev1.SecretReference{Namespace: key.Namespace, Name: key.Name}, Version: v.secret,
	}
}
