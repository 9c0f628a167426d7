// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// power makes the machine run or not as the host wants it, says so in the status, and forgets an error that is over.
func power(v View) Step {
	_, once := v.Host.Annotations[bmov1alpha1.RebootAnnotationPrefix]
	running, status := v.Machine != Off, v.Host.Status
	switch {
	case once && (!running || v.Host.Spec.DisablePowerOff):
		return v.rebooted()
	case running != WantsPower(v.Host, v.Machine):
		return v.switchPower()
	case status.PoweredOn != running || status.ErrorMessage != "" || status.OperationalStatus != bmov1alpha1.OperationalStatusOK:
		return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
			succeed(status)
			status.PoweredOn = running
		})
	}
	return Step{}
}

// rebooted forgets the request for one reboot when the machine is off. A machine that may not be off is restarted.
func (v View) rebooted() Step {
	if s, ignored := v.ignored(); ignored {
		return s
	}
	s := Step{Drop: []string{bmov1alpha1.RebootAnnotationPrefix}}
	if v.Machine != Off {
		s.Machine = v.Machine
		s.Events = []Happening{normal("Reboot", "Host restarted")}
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
		s.Machine, s.Events = Off, []Happening{normal("PowerOff", "Host powered off")}
		return s
	case v.Host.WasProvisioned() || v.Host.Spec.ExternallyProvisioned:
		s.Machine = Booted
	default:
		s.Machine = Idle
	}
	s.Events = []Happening{normal("PowerOn", "Host powered on")}
	return s
}

// ignored reports whether the operating system was asked to shut down and has not. It is asked once: the next try is hard.
func (v View) ignored() (Step, bool) {
	switch {
	case !v.Fault.Hung || v.Machine != Booted || wantsHard(v.Host):
		return Step{}, false
	case v.Host.Status.ErrorMessage == "":
		return v.Fail(bmov1alpha1.PowerManagementError, "Soft power off timed out"), true
	}
	return Step{Wait: true}, !v.Due
}

// wantsHard reports whether somebody who wants a reboot asks for the power to be taken away.
func wantsHard(host *bmov1alpha1.BareMetalHost) bool {
	for key, value := range host.Annotations {
		arguments := bmov1alpha1.RebootAnnotationArguments{}
		if rebootAnnotation(key) && json.Unmarshal([]byte(value), &arguments) == nil && arguments.Mode == bmov1alpha1.RebootModeHard {
			return true
		}
	}
	return false
}

// WantsPower is the spec's wish, unless a reboot is wanted: then the machine is off for as long as somebody's annotation
// is there. A machine that may not be powered off runs on.
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

func rebootAnnotation(key string) bool {
	return key == bmov1alpha1.RebootAnnotationPrefix || strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix+"/")
}

// MachineOf is what the machine must be doing going by the host alone. One that was moved here goes on meanwhile.
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
