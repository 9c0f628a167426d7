// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// act is an action on a control plane.
type act string

const (
	cordon     act = "cordon"      // cordons a failure domain
	evict      act = "evict"       // evicts a failure domain
	activate   act = "activate"    // sets a failure domain to Active
	lose       act = "lose"        // takes power from a failure domain and everything in it
	restore    act = "restore"     // returns power to the lost failure domain
	remove     act = "delete"      // deletes a Machine, as a user does
	stop       act = "stop"        // stops a Node and its etcd member
	start      act = "start"       // starts the stopped Node
	fail       act = "fail"        // remediates a Machine with remediate-machine, as a user does for its health check
	claim      act = "claim"       // sets delete-machine on a Machine, as a user or an autoscaler does
	release    act = "release"     // removes delete-machine again
	scale      act = "scale"       // scales from three to five, or back
	rollOut    act = "roll out"    // replaces all machines with rollout.after
	renew      act = "renew"       // replaces the infrastructure template with one of another name
	pause      act = "pause"       // pauses the control plane
	resume     act = "resume"      // resumes the control plane
	upgrade    act = "upgrade"     // upgrades Kubernetes, once
	announce   act = "announce"    // sets the version of an upgrade in the Cluster's topology, which upgrade passes on to the control plane
	hold       act = "hold"        // holds the deletion of a Machine with a hook, so that a rollout stops there
	removeHook act = "remove hook" // removes the hook
	strip      act = "strip"       // lets a mutating policy remove Faultline's annotations
	keep       act = "keep"        // removes that policy
)

// weights returns how often each possible act is drawn, relative to the others.
func weights() map[act]int {
	return map[act]int{
		cordon: 2, evict: 6, activate: 5, lose: 2, restore: 2, remove: 2, fail: 5, stop: 1, start: 3, claim: 1, release: 3, scale: 3, rollOut: 1, renew: 1,
		pause: 1, resume: 4, upgrade: 3, announce: 6, hold: 4, removeHook: 3, strip: 4, keep: 4,
	}
}

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
	act act
	// pick selects the target among those that exist at that time.
	pick int
	// when is the phase of a move to wait for, kill the phase from then on at which the manager is killed.
	when, kill phase
	// pause is the time until the next step.
	pause time.Duration
}

func (s step) String() string {
	text := string(s.act)
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
	can := map[act]bool{restore: false, start: false, release: false, resume: false, removeHook: false, keep: false}
	for _, a := range kind.lacks {
		can[a] = false
	}
	for len(s.steps) < fewestSteps || len(s.steps) < mostSteps && random.IntN(goesOn) > 0 {
		s.steps = append(s.steps, drawStep(random, can))
	}
	if random.IntN(rolled) == 0 && kind.can(rollOut) {
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

// drawStep draws an act that is possible after the previous ones.
func drawStep(random *rand.Rand, can map[act]bool) step {
	var from []act
	for _, a := range slices.Sorted(maps.Keys(weights())) {
		if possible, limited := can[a]; possible || !limited {
			from = append(from, slices.Repeat([]act{a}, weights()[a])...)
		}
	}
	s := step{act: provider.Pick(random, from), pick: random.IntN(1 << 16), pause: min(time.Duration(random.ExpFloat64()*float64(meanStep)), longestStep)}
	if random.IntN(amid) == 0 {
		s.when = provider.Pick(random, phases())
	}
	if random.IntN(killers) == 0 {
		s.kill = provider.Pick(random, phases())
	}
	undone := map[act]act{lose: restore, stop: start, claim: release, pause: resume, hold: removeHook, strip: keep, announce: upgrade}
	for does, undoes := range undone {
		if s.act == does || s.act == undoes {
			can[does], can[undoes] = s.act == undoes, s.act == does
		}
	}
	return s
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
