// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"reflect"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// unknownProfile is the only hardware profile that is left in the operator.
const unknownProfile = "unknown"

// inspectionDisabled is the inspect annotation's value that asks for the contrary of an inspection.
const inspectionDisabled = "disabled"

// discover starts to manage a host as soon as it says where its BMC is.
func discover(v view) step {
	switch {
	case v.host.HasBMCDetails():
		return v.enter(bmov1alpha1.StateRegistering, func(status *bmov1alpha1.BareMetalHostStatus) {
			status.OperationalStatus = ""
			status.ErrorType, status.ErrorMessage = "", ""
			status.Provisioning.BootMode = v.host.BootMode()
			status.TriedCredentials = v.credentials()
		})
	case v.state() == bmov1alpha1.StateUnmanaged:
		return step{}
	}
	return v.enter(bmov1alpha1.StateUnmanaged, func(status *bmov1alpha1.BareMetalHostStatus) {
		status.OperationalStatus = bmov1alpha1.OperationalStatusDiscovered
	})
}

func register(v view) step {
	if s, held := v.held(bmov1alpha1.RegistrationError); held {
		return s
	}
	s := v.enter(v.afterRegistering(), func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.Provisioning.ID = provisioningID(v.host)
		status.TriedCredentials, status.GoodCredentials = v.credentials(), v.credentials()
		status.HardwareProfile = unknownProfile
	})
	s.events = []happening{normal("Registered", "Registered new host"), normal("BMCAccessValidated", "Verified access to BMC")}
	return s
}

func (v view) afterRegistering() bmov1alpha1.ProvisioningState {
	switch {
	case v.host.Spec.ExternallyProvisioned:
		return bmov1alpha1.StateExternallyProvisioned
	case v.host.NeedsHardwareInspection():
		return bmov1alpha1.StateInspecting
	}
	return bmov1alpha1.StatePreparing
}

func inspect(v view) step {
	if s, held := v.held(bmov1alpha1.InspectionError); held {
		return s
	}
	s := v.enter(bmov1alpha1.StatePreparing, func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.HardwareDetails = v.inventory.DeepCopy()
	})
	s.publish = true
	s.events = []happening{normal("InspectionComplete", "Hardware inspection completed")}
	return s
}

func prepare(v view) step {
	if s, held := v.held(bmov1alpha1.PreparationError); held {
		return s
	}
	return v.enter(bmov1alpha1.StateAvailable, func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.Provisioning.RootDeviceHints = v.host.Spec.RootDeviceHints.DeepCopy()
		status.Provisioning.RAID = v.host.Spec.RAID.DeepCopy()
		status.Provisioning.Firmware = firmwareOf(v.host).DeepCopy()
	})
}

// prepared says that the host's settings are what its spec wants.
func (v view) prepared() bool {
	has, want := v.host.Status.Provisioning, v.host.Spec
	return reflect.DeepEqual(has.RootDeviceHints, want.RootDeviceHints) &&
		reflect.DeepEqual(has.RAID, want.RAID) && reflect.DeepEqual(has.Firmware, firmwareOf(v.host))
}

//nolint:staticcheck // No driver uses it any more, but the operator still shows it.
func firmwareOf(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.FirmwareConfig {
	return host.Spec.Firmware
}

// offer keeps a host ready for an image. A consumer alone changes nothing.
func offer(v view) step {
	if s, failing := v.failing(bmov1alpha1.PowerManagementError); failing {
		return s
	}
	value, inspect := v.host.Annotations[bmov1alpha1.InspectAnnotationPrefix]
	switch {
	case v.host.Spec.ExternallyProvisioned:
		return v.enter(bmov1alpha1.StateExternallyProvisioned, clearError)
	case inspect && value != inspectionDisabled:
		s := v.enter(bmov1alpha1.StateInspecting, clearError)
		s.drop = []string{bmov1alpha1.InspectAnnotationPrefix}
		return s
	case !v.prepared():
		return v.enter(bmov1alpha1.StatePreparing, clearError)
	case v.host.NeedsProvisioning():
		return v.enter(bmov1alpha1.StateProvisioning, clearError)
	}
	return power(v)
}

func provision(v view) step {
	if v.unwanted() || v.started != "" && v.started != imageURL(v.host) {
		return v.startDeprovisioning()
	}
	if err := imageProblem(v.host); err != nil && v.fault.message == "" {
		v.fault.message = err.Error()
	}
	// What a failed attempt has left on the disks is cleaned before the next.
	if v.host.Status.ErrorType == bmov1alpha1.ProvisioningError && v.due {
		return v.startDeprovisioning()
	}
	if s, held := v.held(bmov1alpha1.ProvisioningError); held {
		return s
	}
	s := v.enter(bmov1alpha1.StateProvisioned, func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.PoweredOn = true
		status.Provisioning.CustomDeploy = v.host.Spec.CustomDeploy.DeepCopy()
		if v.host.Spec.Image != nil {
			status.Provisioning.Image = *v.host.Spec.Image.DeepCopy()
		}
	})
	if v.machine != booted {
		s.machine = booted
	}
	s.events = []happening{normal("ProvisioningComplete", "Image provisioned: "+imageURL(v.host))}
	return s
}

// imageProblem finds what the operator would find wrong with an image.
func imageProblem(host *bmov1alpha1.BareMetalHost) error {
	if host.Spec.CustomDeploy != nil {
		return nil
	}
	_, _, err := host.Spec.Image.GetChecksum()
	return err
}

func imageURL(host *bmov1alpha1.BareMetalHost) string {
	if host.Spec.Image == nil {
		return ""
	}
	return host.Spec.Image.URL
}

// unwanted says that nothing is left of what the host was to run.
func (v view) unwanted() bool {
	return imageURL(v.host) == "" && (v.host.Spec.CustomDeploy == nil || v.host.Spec.CustomDeploy.Method == "")
}

// replaced says that the host runs something else than it was to.
func (v view) replaced() bool {
	runs := v.host.Status.Provisioning
	if runs.Image.URL != imageURL(v.host) {
		return true
	}
	want := v.host.Spec.CustomDeploy
	return (runs.CustomDeploy == nil) != (want == nil) || want != nil && runs.CustomDeploy.Method != want.Method
}

func keep(v view) step {
	if v.unwanted() || v.replaced() {
		return v.startDeprovisioning()
	}
	if s, failing := v.failing(bmov1alpha1.PowerManagementError); failing {
		return s
	}
	return power(v)
}

func keepExternal(v view) step {
	if s, failing := v.failing(bmov1alpha1.PowerManagementError); failing {
		return s
	}
	switch {
	case v.host.Spec.ExternallyProvisioned:
		return power(v)
	case v.host.NeedsHardwareInspection():
		return v.enter(bmov1alpha1.StateInspecting, clearError)
	}
	return v.enter(bmov1alpha1.StatePreparing, clearError)
}

// startDeprovisioning ends what runs on the machine, which stays as it is for the operator's own use.
func (v view) startDeprovisioning() step {
	s := v.enter(bmov1alpha1.StateDeprovisioning, succeed)
	s.erase = true
	s.events = []happening{normal("DeprovisionStarted", "Image deprovisioning started")}
	if v.machine == booted {
		s.machine = idle
	}
	return s
}

func deprovision(v view) step {
	after := bmov1alpha1.StateAvailable
	if v.deleting() {
		after = bmov1alpha1.StatePoweringOffBeforeDelete
	}
	if s, held := v.held(bmov1alpha1.ProvisioningError); held && !v.gaveUp() {
		return s
	}
	s := v.enter(after, func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.Provisioning.Image = bmov1alpha1.Image{}
		status.Provisioning.CustomDeploy = nil
		status.Provisioning.RootDeviceHints, status.Provisioning.RAID, status.Provisioning.Firmware = nil, nil, nil
	})
	s.events = []happening{normal("DeprovisionComplete", "Image deprovisioned")}
	return s
}

// gaveUp says that deletion goes on although an operation keeps failing.
func (v view) gaveUp() bool {
	return v.deleting() && v.host.Status.ErrorMessage != "" && v.host.Status.ErrorCount >= attempts
}

func powerOffBeforeDelete(v view) step {
	if s, held := v.held(bmov1alpha1.PowerManagementError); held && !v.gaveUp() {
		return s
	}
	s := v.enter(bmov1alpha1.StateDeleting, func(status *bmov1alpha1.BareMetalHostStatus) {
		status.PoweredOn = status.PoweredOn && v.host.Spec.DisablePowerOff
	})
	if v.machine != off && !v.host.Spec.DisablePowerOff {
		s.machine = off
	}
	return s
}

func finish(v view) step {
	if !v.due {
		return step{wait: true}
	}
	return step{retract: true, release: true}
}
