// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// phase is a phase of a move, or of a rollout.
type phase string

const (
	never     phase = ""
	recorded  phase = "a move is recorded"
	marked    phase = "a Machine is marked"
	outdated  phase = "a Machine is outdated"
	replaced  phase = "a replacement exists"
	leaving   phase = "the moved Machine is deleted"
	takenBack phase = "a move is aborted"
	surging   phase = "a surplus Machine exists"
)

func phases() []phase { return []phase{recorded, marked, outdated, replaced, leaving, takenBack} }

// reached reports whether a move is in a phase.
func reached(at phase, m moment) bool {
	switch at {
	case recorded:
		return m.move != nil
	case marked:
		return m.any(func(is machine) bool { return is.marked })
	case outdated:
		return m.any(func(is machine) bool { return is.outdated })
	case replaced:
		return m.move != nil && len(m.machines) > m.replicas
	case leaving:
		return m.any(func(is machine) bool { return is.touched() && is.deleting })
	case surging:
		return len(m.machines) > m.replicas
	case takenBack:
		return m.move != nil && m.move.Aborting != ""
	}
	return false
}

const (
	fewestSteps = 3
	mostSteps   = 8
	longestStep = 8 * time.Second
	meanStep    = 2 * time.Second
	// One in tightOnes control planes has hardly any spare capacity, one in rolled replaces all machines instead of moving one, at one in
	// killers steps the manager is killed, and one in amid steps comes during a move. One in moved machines that fail during a move is
	// any machine; the others are the moving machine or its replacement.
	tightOnes, rolled, killers, amid, moved = 6, 5, 2, 2, 4
	// goesOn: a script ends after each step with a probability of 1/goesOn.
	goesOn = 4
	// roomy is the capacity of a failure domain that fits all five machines and one more.
	roomy = 6
)

// step is an act and its target.
type step struct {
	// act is the name of the act.
	act string
	// pick selects the target among those that exist at that time.
	pick int
	// when is the phase of a move to wait for, kill the phase from then on at which the manager is killed.
	when, kill phase
	// pause is the time until the next step.
	pause time.Duration
}

func (s step) String() string {
	text := s.act
	if s.when != never {
		text += " when " + string(s.when)
	}
	if s.kill != never {
		text += " and kill when " + string(s.kill)
	}
	return text
}

// script holds everything that is drawn from a seed.
type script struct {
	seed                   uint64
	mode                   faultlinev1.ControlPlaneRebalance
	replicas, domains      int
	capacity               int // capacity of each failure domain, in machines
	stabilization          int64
	graceSeconds, holdSecs int
	steps                  []step
}

// draw draws a script for a kind of control plane from a seed.
func draw(seed uint64, kind controlPlaneKind) script {
	random := provider.Random(seed, "rebalance")
	s := script{
		seed: seed, mode: faultlinev1.ControlPlaneRebalanceSurgeOne, replicas: 3 + 2*random.IntN(2), domains: 2 + random.IntN(3), capacity: roomy,
		stabilization: int64(random.IntN(2)), graceSeconds: random.IntN(2), holdSecs: random.IntN(3),
	}
	if random.IntN(tightOnes) == 0 {
		s.capacity = (s.replicas+s.domains-1)/s.domains + 1
	}
	// Without an evicted failure domain no machine has to move.
	s.steps = []step{{act: evict, pick: random.IntN(1 << 16), kill: provider.Pick(random, phases())}}
	pending := map[string]bool{}
	for _, a := range acts() {
		if a.ends != "" {
			pending[a.ends] = false
		}
	}
	for len(s.steps) < fewestSteps || len(s.steps) < mostSteps && random.IntN(goesOn) > 0 {
		s.steps = append(s.steps, drawStep(random, kind, pending))
	}
	if random.IntN(rolled) == 0 && kind.rollsOut() {
		s.rollOut()
	}
	return s
}

// rollOut makes the control plane replace all machines instead of moving one. A rollout has only one observable phase, and needs capacity
// in every failure domain. The manager would request it in the Cluster's topology, which no controller passes on here.
func (s *script) rollOut() {
	s.mode, s.capacity = faultlinev1.ControlPlaneRebalanceRolloutAfter, roomy
	for i := range s.steps {
		if s.steps[i].act == announce {
			s.steps[i].act = upgrade
		}
		for _, at := range []*phase{&s.steps[i].when, &s.steps[i].kill} {
			if *at != never {
				*at = surging
			}
		}
	}
}

// drawStep draws an act that is possible after the previous ones. pending has, for each act that another one ends, whether that is still to
// come.
func drawStep(random *rand.Rand, kind controlPlaneKind, pending map[string]bool) step {
	var from []act
	for _, a := range acts() {
		if !pending[a.name] && (a.ends == "" || pending[a.ends]) && (a.name != rollOut || kind.rollsOut()) {
			from = append(from, slices.Repeat([]act{a}, a.weight)...)
		}
	}
	drawn := provider.Pick(random, from)
	s := step{act: drawn.name, pick: random.IntN(1 << 16), pause: min(time.Duration(random.ExpFloat64()*float64(meanStep)), longestStep)}
	if random.IntN(amid) == 0 {
		s.when = provider.Pick(random, phases())
	}
	if random.IntN(killers) == 0 {
		s.kill = provider.Pick(random, phases())
	}
	if _, ended := pending[drawn.name]; ended {
		pending[drawn.name] = true
	}
	if drawn.ends != "" {
		pending[drawn.ends] = false
	}
	return s
}

// String describes the control plane and the steps.
func (s script) String() string {
	var acts []string
	for _, step := range s.steps {
		acts = append(acts, step.String())
	}
	return fmt.Sprintf("%s, %d machines, %d failure domains: %s", s.mode, s.replicas, s.domains, strings.Join(acts, ", "))
}

// name returns the name of the cluster and of its namespace.
func (s script) name() string { return fmt.Sprintf("seed-%d", s.seed) }

// hasTopology reports whether the Cluster has a topology, because the version of its upgrade is announced in it.
func (s script) hasTopology() bool {
	return slices.ContainsFunc(s.steps, func(s step) bool { return s.act == announce })
}

// tight reports whether the failure domains have hardly any spare capacity.
func (s script) tight() bool { return s.capacity < roomy }

// domainNames returns names that are short, because hosts are named after them, and unique among clusters.
func (s script) domainNames() []string {
	names := make([]string, s.domains)
	for i := range names {
		names[i] = fmt.Sprintf("s%d-%c", s.seed, 'a'+rune(i))
	}
	return names
}

// picked returns the item that the step selects.
func picked[T any](s step, from []T) (T, bool) {
	if len(from) == 0 {
		var none T
		return none, false
	}
	return from[s.pick%len(from)], true
}
