// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// power makes the machine run or not as the host wants it, says so in the status, and forgets an error that is over.
func power(v view) step {
	_, once := v.host.Annotations[bmov1alpha1.RebootAnnotationPrefix]
	running, status := v.machine != off, v.host.Status
	switch {
	case once && (!running || v.host.Spec.DisablePowerOff):
		return v.rebooted()
	case running != wantsPower(v.host, v.machine):
		return v.switchPower()
	case status.PoweredOn != running || status.ErrorMessage != "" || status.OperationalStatus != bmov1alpha1.OperationalStatusOK:
		return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
			succeed(status)
			status.PoweredOn = running
		})
	}
	return step{}
}

// rebooted forgets the request for one reboot when the machine is off. A machine that may not be off is restarted.
func (v view) rebooted() step {
	if s, ignored := v.ignored(); ignored {
		return s
	}
	s := step{drop: []string{bmov1alpha1.RebootAnnotationPrefix}}
	if v.machine != off {
		s.machine = v.machine
		s.events = []happening{normal("Reboot", "Host restarted")}
	}
	return s
}

func (v view) switchPower() step {
	if !v.due {
		return step{wait: true}
	}
	on := wantsPower(v.host, v.machine)
	if s, ignored := v.ignored(); ignored && !on {
		return s
	}
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		succeed(status)
		status.PoweredOn = on
	})
	switch {
	case !on:
		s.machine, s.events = off, []happening{normal("PowerOff", "Host powered off")}
		return s
	case v.host.WasProvisioned() || v.host.Spec.ExternallyProvisioned:
		s.machine = booted
	default:
		s.machine = idle
	}
	s.events = []happening{normal("PowerOn", "Host powered on")}
	return s
}

// ignored reports whether the operating system was asked to shut down and has not. It is asked once: the next try is hard.
func (v view) ignored() (step, bool) {
	switch {
	case !v.fault.hung || v.machine != booted || wantsHard(v.host):
		return step{}, false
	case v.host.Status.ErrorMessage == "":
		return v.fail(bmov1alpha1.PowerManagementError, "Soft power off timed out"), true
	}
	return step{wait: true}, !v.due
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

// wantsPower is the spec's wish, unless a reboot is wanted: then the machine is off for as long as somebody's annotation
// is there. A machine that may not be powered off runs on.
func wantsPower(host *bmov1alpha1.BareMetalHost, m machine) bool {
	if host.Spec.DisablePowerOff && m != off {
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

// machineOf is what the machine must be doing going by the host alone. One that was moved here goes on meanwhile.
func machineOf(host *bmov1alpha1.BareMetalHost) machine {
	status := host.Status
	if before, moved := backup(host); moved {
		status = before
	}
	switch {
	case !status.PoweredOn:
		return off
	case status.Provisioning.State == bmov1alpha1.StateProvisioned,
		status.Provisioning.State == bmov1alpha1.StateExternallyProvisioned:
		return booted
	}
	return idle
}
