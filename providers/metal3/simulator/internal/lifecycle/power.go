// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// power switches the machine as the spec requires, updates the status, and clears a resolved error.
func power(v View) Step {
	_, once := v.Host.Annotations[bmov1alpha1.RebootAnnotationPrefix]
	running, status := v.Machine != Off, v.Host.Status
	if v.Fault.Dark {
		return v.powerWithoutAnswer()
	}
	switch {
	case status.PoweredOn != running:
		return v.readPower()
	case once && (!running || v.Host.Spec.DisablePowerOff):
		return v.rebooted()
	case running != WantsPower(v.Host, v.Machine):
		return v.switchPower()
	case status.ErrorMessage != "" || status.OperationalStatus != bmov1alpha1.OperationalStatusOK:
		return v.edit(succeed)
	}
	return Step{}
}

// readPower updates the status from the machine, which the operator does before it switches the power.
func (v View) readPower() Step {
	return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		status.PoweredOn = v.Machine != Off
		if status.ErrorType == bmov1alpha1.PowerManagementError {
			clearError(status)
		}
	})
}

// powerWithoutAnswer is power for a machine whose BMC does not respond. The status is kept; an attempt to switch the power fails.
func (v View) powerWithoutAnswer() Step {
	status := v.Host.Status
	switch {
	case status.PoweredOn == WantsPower(v.Host, Idle):
		return v.untilPowerLossDetected()
	case v.Due || status.ErrorMessage == "":
		return v.Fail(bmov1alpha1.PowerManagementError, noAnswer)
	}
	return Step{Wait: true}
}

// rebooted removes the annotation of a single reboot once the machine is off. A machine that must not be powered off is
// restarted.
func (v View) rebooted() Step {
	if s, ignored := v.ignored(); ignored {
		return s
	}
	s := Step{Drop: []string{bmov1alpha1.RebootAnnotationPrefix}}
	if v.Machine != Off {
		s.Machine = v.Machine
		s.Events = []Event{normal("Reboot", "Host restarted")}
	}
	return s
}

func (v View) switchPower() Step {
	if !v.Due {
		return Step{Wait: true}
	}
	on := WantsPower(v.Host, v.Machine)
	if s, ignored := v.ignored(); ignored && !on {
		return s
	}
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.PoweredOn = on
	})
	switch {
	case !on:
		s.Machine, s.Events = Off, []Event{normal("PowerOff", "Host powered off")}
		return s
	case v.Host.WasProvisioned() || v.Host.Spec.ExternallyProvisioned:
		s.Machine = Booted
	default:
		s.Machine = Idle
	}
	s.Events = []Event{normal("PowerOn", "Host powered on")}
	return s
}

// ignored reports whether the operating system has ignored a soft power off. It is tried once: the next attempt is hard.
func (v View) ignored() (Step, bool) {
	switch {
	case !v.Fault.Hung || v.Machine != Booted || wantsHard(v.Host):
		return Step{}, false
	case v.Host.Status.ErrorMessage == "":
		return v.Fail(bmov1alpha1.PowerManagementError, "Soft power off timed out"), true
	}
	return Step{Wait: true}, !v.Due
}

// wantsHard reports whether a reboot annotation requests a hard power off.
func wantsHard(host *bmov1alpha1.BareMetalHost) bool {
	for key, value := range host.Annotations {
		arguments := bmov1alpha1.RebootAnnotationArguments{}
		if rebootAnnotation(key) && json.Unmarshal([]byte(value), &arguments) == nil && arguments.Mode == bmov1alpha1.RebootModeHard {
			return true
		}
	}
	return false
}

// WantsPower returns the spec's power setting, unless a reboot is requested: then the machine is off as long as a client's
// annotation is present. A machine that must not be powered off keeps running.
func WantsPower(host *bmov1alpha1.BareMetalHost, m Machine) bool {
	if host.Spec.DisablePowerOff && m != Off {
		return true
	}
	for key := range host.Annotations {
		if rebootAnnotation(key) {
			return false
		}
	}
	return host.Spec.Online
}

// rebootAnnotations returns the reboot annotations of the host.
func rebootAnnotations(host *bmov1alpha1.BareMetalHost) []string {
	var found []string
	for key := range host.Annotations {
		if rebootAnnotation(key) {
			found = append(found, key)
		}
	}
	return found
}

func rebootAnnotation(key string) bool {
	return key == bmov1alpha1.RebootAnnotationPrefix || strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix+"/")
}

// MachineOf derives the state of the machine from the host's status alone. A machine whose host was moved here keeps running in
// the meantime.
func MachineOf(host *bmov1alpha1.BareMetalHost) Machine {
	status := host.Status
	if before, moved := backup(host); moved {
		status = before
	}
	switch {
	case !status.PoweredOn:
		return Off
	case status.Provisioning.State == bmov1alpha1.StateProvisioned,
		status.Provisioning.State == bmov1alpha1.StateExternallyProvisioned:
		return Booted
	}
	return Idle
}
