// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ironic

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline-io/faultline/shared/faults"
)

// Faults of a machine.
const (
	// Dark cuts the power of a machine and its BMC.
	Dark = "dark"
	// Silent makes a BMC stop responding while its machine keeps running.
	Silent = "silent"
	// Hung makes an operating system ignore soft power off.
	Hung = "hung"
)

// Steps that can fail.
const (
	Verifying  = "verifying"
	Inspecting = "inspecting"
	Deploying  = "deploying"
	Cleaning   = "cleaning"
	Power      = "power"
)

// Fault is a way in which Ironic or a machine breaks a rule that the operator may rely on.
type Fault = faults.Fault[*Server, Option, types.NamespacedName]

// Faults returns all faults.
func Faults() []Fault {
	return []Fault{
		{
			Name: Dark, Is: "a machine has no power: it stops, and its BMC does not respond", Breaks: "A machine that should be on is on.",
			Takes: []string{"namespace", "host"}, Set: setDark,
		},
		{
			Name: Silent, Is: "a BMC does not respond while its machine keeps running", Breaks: "A machine whose BMC does not respond is not running.",
			Takes: []string{"namespace", "host"}, Set: setFault(Silent),
		},
		{
			Name: Hung, Is: "the operating system of a machine ignores shutdown requests", Breaks: "A machine that should be off shuts down.",
			Takes: []string{"namespace", "host"}, Set: setFault(Hung),
		},
		{
			Name: "failing", Is: "a step fails: verifying, inspecting, deploying, cleaning or power", Breaks: "Operations succeed.",
			Takes: []string{"namespace", "host", "step"}, MayTake: []string{"message"}, Set: setFailing,
		},
		{
			Name: "down", Is: "Ironic answers every request with 503", Breaks: "Ironic is available.", Set: setDown,
		},
	}
}

// SetFault sets or clears the named fault.
func (s *Server) SetFault(ctx context.Context, name string, on bool, args ...string) error {
	fault, err := faults.Named(Faults(), name)
	if err != nil {
		return err
	}
	return fault.Make(ctx, s, on, args...)
}

// setDark leaves a machine off when its power is restored.
func setDark(_ context.Context, s *Server, on bool, args ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.hostMachine(args)
	before := m.seen()
	if m.set(Dark, on, unreachable); on {
		m.on, m.ramdisk = false, false
	}
	if after := m.seen(); after != before {
		s.observe(after)
	}
	return nil
}

func setFault(name string) func(context.Context, *Server, bool, ...string) error {
	return func(_ context.Context, s *Server, on bool, args ...string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hostMachine(args).set(name, on, unreachable)
		return nil
	}
}

func setFailing(_ context.Context, s *Server, on bool, args ...string) error {
	step, message := args[2], args[2]+" failed"
	if all := []string{Verifying, Inspecting, Deploying, Cleaning, Power}; !slices.Contains(all, step) {
		return fmt.Errorf("unknown step %q: must be one of %v", step, all)
	}
	if len(args) > 3 {
		message = args[3]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hostMachine(args).set(step, on, message)
	return nil
}

func setDown(_ context.Context, s *Server, on bool, _ ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = on
	return nil
}

func (s *Server) hostMachine(args []string) *machine { return s.machine(args[0] + "~" + args[1]) }

func (m *machine) set(fault string, on bool, message string) {
	if on {
		m.faults[fault] = message
	} else {
		delete(m.faults, fault)
	}
}
