// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ironic

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	powerOn  = "power on"
	powerOff = "power off"
	// powerFailure is the fault of a node whose BMC does not respond.
	powerFailure = "power failure"
	// retries is the number of failed polls after which the next failure counts as a power failure.
	retries = 3
)

// machine is the machine of a node.
type machine struct {
	name string
	// on reports whether it is powered on, ramdisk whether it runs Ironic's ramdisk; disk holds the deployed config drive.
	on, ramdisk bool
	disk        *ConfigDrive
	// faults maps active faults to their messages.
	faults map[string]string
}

func (s *Server) machine(name string) *machine {
	if s.machines[name] == nil {
		s.machines[name] = &machine{name: name, faults: map[string]string{}}
	}
	return s.machines[name]
}

func (m *machine) seen() Machine {
	seen := Machine{Name: m.name, On: m.on}
	if m.on && !m.ramdisk {
		seen.Runs = m.disk
	}
	return seen
}

func (m *machine) has(fault string) bool { _, has := m.faults[fault]; return has }

// answers reports whether the BMC responds.
func (m *machine) answers() bool { return !m.has(Dark) && !m.has(Silent) }

// fails returns the error message of a step and whether it fails.
func (n *node) fails(step string) (message string, failing bool) {
	if !n.machine.answers() {
		return unreachable, true
	}
	message, failing = n.machine.faults[step]
	return message, failing
}

// change changes a machine, and calls the observer if the observable state changes.
func (s *Server) change(n *node, how func(*machine)) {
	before := n.machine.seen()
	how(n.machine)
	n.showPower()
	if after := n.machine.seen(); after != before {
		s.observe(after)
	}
}

// showPower updates the power state from the BMC, if it responds.
func (n *node) showPower() {
	if !n.machine.answers() {
		return
	}
	state := powerOff
	if n.machine.on {
		state = powerOn
	}
	n.set(document{"power_state": state})
}

// boot boots the ramdisk, if the BMC responds.
func (s *Server) boot(n *node) {
	if n.machine.answers() {
		s.change(n, func(m *machine) { m.on, m.ramdisk = true, true })
	}
}

// switchOff powers a machine off, unless power off is disabled for its node.
func (s *Server) switchOff(n *node) {
	if n.machine.answers() && !n.flag("disable_power_off") {
		s.change(n, func(m *machine) { m.on, m.ramdisk = false, false })
	}
}

func (s *Server) changePowerState(n *node, r request) (answer, error) {
	target, _ := r.document["target"].(string)
	if !slices.Contains([]string{powerOn, powerOff, "soft " + powerOff, "rebooting", "soft rebooting"}, target) {
		return answer{}, refuse(http.StatusBadRequest, "The requested power state %q is not known.", target)
	}
	// A hung operating system ignores soft power off; a reboot ends with the machine powered on.
	soft, wanted, after := strings.HasPrefix(target, "soft "), !strings.HasSuffix(target, powerOff), s.delays.Power
	ignored := soft && n.machine.has(Hung)
	if ignored {
		after = s.delays.SoftPowerOff
	}
	shown := strings.TrimPrefix(target, "soft ")
	if strings.HasSuffix(target, "rebooting") {
		shown = powerOn
	}
	n.set(document{"target_power_state": shown, "last_error": nil})
	n.power = time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		n.power = nil
		n.set(document{"target_power_state": nil})
		message, failing := n.fails(Power)
		if ignored && !failing {
			message, failing = "Timed out waiting for the power state to change", true
		}
		if failing {
			n.set(document{"last_error": fmt.Sprintf("Failed to change power state to '%s'. Error: %s", target, message)})
			return
		}
		if strings.HasSuffix(target, "rebooting") {
			s.change(n, func(m *machine) { m.on = false })
		}
		s.change(n, func(m *machine) { m.on, m.ramdisk = wanted, false })
	})
	return answer{status: http.StatusAccepted}, nil
}

// syncPower polls the power of all nodes once.
func (s *Server) syncPower() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if state := n.text("provision_state"); state != enroll && !n.busy() {
			n.syncPower()
		}
	}
}

// syncPower updates the power state from the BMC. A node in maintenance is skipped, unless the maintenance is due to a power
// failure.
func (n *node) syncPower() {
	failure := n.text("fault") == powerFailure
	switch {
	case n.flag("maintenance") && !failure:
		n.unanswered = 0
	case n.machine.answers():
		n.unanswered = 0
		if failure {
			n.set(document{"maintenance": false, "maintenance_reason": nil, "fault": nil})
		}
		n.showPower()
	case !failure:
		if n.unanswered++; n.unanswered > retries {
			n.unanswered = 0
			message := fmt.Sprintf("During sync_power_state, max retries exceeded for node %s, node state None does not match expected state '%s'. "+
				"Updating DB state to 'None' Switching node to maintenance mode. Error: %s", n.text("uuid"), n.text("power_state"), unreachable)
			n.set(document{
				"power_state": nil, "last_error": message, "maintenance": true, "maintenance_reason": message, "fault": powerFailure,
			})
		}
	}
}
