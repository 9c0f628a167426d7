// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"reflect"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// unknownProfile is the only hardware profile that the operator still supports.
const unknownProfile = "unknown"

// inspectionDisabled is the value of the inspect annotation that disables inspection.
const inspectionDisabled = "disabled"

// discover starts to manage a host as soon as its BMC address is set.
func discover(v View) Step {
	switch {
	case v.Host.HasBMCDetails():
		return v.enter(bmov1alpha1.StateRegistering, func(status *bmov1alpha1.BareMetalHostStatus) {
			status.OperationalStatus = ""
			status.ErrorType, status.ErrorMessage = "", ""
			status.Provisioning.BootMode = v.Host.BootMode()
			status.TriedCredentials = v.credentials()
		})
	case v.state() == bmov1alpha1.StateUnmanaged:
		return Step{}
	}
	return v.enter(bmov1alpha1.StateUnmanaged, func(status *bmov1alpha1.BareMetalHostStatus) {
		status.OperationalStatus = bmov1alpha1.OperationalStatusDiscovered
	})
}

func register(v View) Step {
	v.Fault = v.Fault.unreachable()
	if s, held := v.held(bmov1alpha1.RegistrationError); held {
		return s
	}
	s := v.enter(v.afterRegistering(), func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.Provisioning.ID = provisioningID(v.Host)
		status.TriedCredentials, status.GoodCredentials = v.credentials(), v.credentials()
		status.HardwareProfile = unknownProfile
	})
	s.Events = []Event{normal("Registered", "Registered new host"), normal("BMCAccessValidated", "Verified access to BMC")}
	return s
}

func (v View) afterRegistering() bmov1alpha1.ProvisioningState {
	switch {
	case v.Host.Spec.ExternallyProvisioned:
		return bmov1alpha1.StateExternallyProvisioned
	case v.Host.NeedsHardwareInspection():
		return bmov1alpha1.StateInspecting
	}
	return bmov1alpha1.StatePreparing
}

func inspect(v View) Step {
	if s, held := v.held(bmov1alpha1.InspectionError); held {
		return s
	}
	s := v.enter(bmov1alpha1.StatePreparing, func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.HardwareDetails = v.Inventory.DeepCopy()
	})
	s.Publish = true
	s.Drop = rebootAnnotations(v.Host)
	s.Events = []Event{normal("InspectionComplete", "Hardware inspection completed")}
	return s
}

func prepare(v View) Step {
	if s, held := v.held(bmov1alpha1.PreparationError); held {
		return s
	}
	return v.enter(bmov1alpha1.StateAvailable, func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.Provisioning.RootDeviceHints = hintsOf(v.Host).DeepCopy()
		status.Provisioning.RAID = v.Host.Spec.RAID.DeepCopy()
		status.Provisioning.Firmware = firmwareOf(v.Host).DeepCopy()
	})
}

// prepared reports whether the host's settings match its spec.
func (v View) prepared() bool {
	has, want := v.Host.Status.Provisioning, v.Host.Spec
	return reflect.DeepEqual(has.RootDeviceHints, hintsOf(v.Host)) &&
		reflect.DeepEqual(has.RAID, want.RAID) && reflect.DeepEqual(has.Firmware, firmwareOf(v.Host))
}

// hintsOf returns the root device hints of the spec, or those of the only hardware profile. They are never nil, so that a
// deprovisioned host, whose settings are cleared, is prepared again.
func hintsOf(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.RootDeviceHints {
	if host.Spec.RootDeviceHints != nil {
		return host.Spec.RootDeviceHints
	}
	return &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/sda"}
}

//nolint:staticcheck // No driver uses it any more, but the operator still shows it.
func firmwareOf(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.FirmwareConfig {
	return host.Spec.Firmware
}

// offer keeps a host available until it has an image. A consumer alone changes nothing.
func offer(v View) Step {
	if s, failing := v.failing(bmov1alpha1.PowerManagementError); failing {
		return s
	}
	value, inspect := v.Host.Annotations[bmov1alpha1.InspectAnnotationPrefix]
	switch {
	case v.Host.Spec.ExternallyProvisioned:
		return v.enter(bmov1alpha1.StateExternallyProvisioned, clearError)
	case inspect && value != inspectionDisabled:
		s := v.enter(bmov1alpha1.StateInspecting, clearError)
		s.Drop = []string{bmov1alpha1.InspectAnnotationPrefix}
		return s
	case !v.prepared():
		return v.enter(bmov1alpha1.StatePreparing, clearError)
	case v.Host.NeedsProvisioning():
		return v.enter(bmov1alpha1.StateProvisioning, clearError)
	}
	return power(v)
}

func provision(v View) Step {
	if v.unwanted() || v.Started != "" && v.Started != ImageURL(v.Host) {
		return v.startDeprovisioning()
	}
	if err := imageProblem(v.Host); err != nil && v.Fault.Message == "" {
		v.Fault.Message = err.Error()
	}
	// Cleans what a failed attempt has left on the disks before the next one.
	if v.Host.Status.ErrorType == bmov1alpha1.ProvisioningError && v.Due {
		return v.startDeprovisioning()
	}
	if s, held := v.held(bmov1alpha1.ProvisioningError); held {
		return s
	}
	s := v.enter(bmov1alpha1.StateProvisioned, func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status) // poweredOn is updated afterwards.
		status.Provisioning.CustomDeploy = v.Host.Spec.CustomDeploy.DeepCopy()
		if v.Host.Spec.Image != nil {
			status.Provisioning.Image = *v.Host.Spec.Image.DeepCopy()
		}
	})
	if v.Machine != Booted {
		s.Machine = Booted
	}
	s.Drop = rebootAnnotations(v.Host)
	s.Events = []Event{normal("ProvisioningComplete", "Image provisioned: "+ImageURL(v.Host))}
	return s
}

// imageProblem returns the error that the operator would find in the image.
func imageProblem(host *bmov1alpha1.BareMetalHost) error {
	if host.Spec.CustomDeploy != nil {
		return nil
	}
	_, _, err := host.Spec.Image.GetChecksum()
	return err
}

// ImageURL returns the URL of the desired image, or "".
func ImageURL(host *bmov1alpha1.BareMetalHost) string {
	if host.Spec.Image == nil {
		return ""
	}
	return host.Spec.Image.URL
}

// unwanted reports whether the host has neither an image nor a custom deploy procedure.
func (v View) unwanted() bool {
	return ImageURL(v.Host) == "" && (v.Host.Spec.CustomDeploy == nil || v.Host.Spec.CustomDeploy.Method == "")
}

// replaced reports whether the host runs something other than its spec defines.
func (v View) replaced() bool {
	runs := v.Host.Status.Provisioning
	if runs.Image.URL != ImageURL(v.Host) {
		return true
	}
	want := v.Host.Spec.CustomDeploy
	return (runs.CustomDeploy == nil) != (want == nil) || want != nil && runs.CustomDeploy.Method != want.Method
}

func keepProvisioned(v View) Step {
	if v.unwanted() || v.replaced() {
		return v.startDeprovisioning()
	}
	if s, failing := v.failing(bmov1alpha1.PowerManagementError); failing {
		return s
	}
	return power(v)
}

func keepExternal(v View) Step {
	if s, failing := v.failing(bmov1alpha1.PowerManagementError); failing {
		return s
	}
	switch {
	case v.Host.Spec.ExternallyProvisioned:
		return power(v)
	case v.Host.NeedsHardwareInspection():
		return v.enter(bmov1alpha1.StateInspecting, clearError)
	}
	return v.enter(bmov1alpha1.StatePreparing, clearError)
}

// startDeprovisioning stops the operating system of the machine, which stays powered on for the operator.
func (v View) startDeprovisioning() Step {
	s := v.enter(bmov1alpha1.StateDeprovisioning, succeed)
	s.Events = []Event{normal("DeprovisionStarted", "Image deprovisioning started")}
	if v.Machine == Booted {
		s.Machine = Idle
	}
	return s
}

func deprovision(v View) Step {
	after := bmov1alpha1.StateAvailable
	if v.deleting() {
		after = bmov1alpha1.StatePoweringOffBeforeDelete
	}
	s, held := v.held(bmov1alpha1.ProvisioningError)
	if held && !v.gaveUp() {
		return s
	}
	s = v.enter(after, func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.Provisioning.Image = bmov1alpha1.Image{}
		status.Provisioning.CustomDeploy = nil
		status.Provisioning.RootDeviceHints, status.Provisioning.RAID, status.Provisioning.Firmware = nil, nil, nil
	})
	s.Erase = !held
	s.Drop = rebootAnnotations(v.Host)
	s.Events = []Event{normal("DeprovisionComplete", "Image deprovisioned")}
	return s
}

// gaveUp reports whether deletion continues although an operation keeps failing. A deletion that makes no progress for lack of
// power waits indefinitely.
func (v View) gaveUp() bool {
	return !v.Fault.Dark && v.deleting() && v.Host.Status.ErrorMessage != "" && v.Host.Status.ErrorCount >= attempts
}

func powerOffBeforeDelete(v View) Step {
	if v.Host.Spec.DisablePowerOff {
		return v.enter(bmov1alpha1.StateDeleting, succeed)
	}
	v.Fault = v.Fault.unreachable()
	if s, held := v.held(bmov1alpha1.PowerManagementError); held && !v.gaveUp() {
		return s
	}
	s := v.enter(bmov1alpha1.StateDeleting, func(status *bmov1alpha1.BareMetalHostStatus) { status.PoweredOn = false })
	if v.Machine != Off {
		s.Machine = Off
	}
	return s
}

func finish(v View) Step {
	if !v.Due {
		return Step{Wait: true}
	}
	return Step{Retract: true, Release: true}
}
