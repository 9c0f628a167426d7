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

// act is something that happens to a control plane.
type act string

const (
	cordon   act = "cordon"   // a failure domain
	evict    act = "evict"    // a failure domain
	activate act = "activate" // a failure domain
	lose     act = "lose"     // a failure domain, with all that runs there
	restore  act = "restore"  // what was lost
	remove   act = "delete"   // a Machine, as a person does
	stop     act = "stop"     // a Node, and its member of etcd with it
	start    act = "start"    // what was stopped
	fail     act = "fail"     // a Machine, by remediate-machine, as a person does for its health check
	claim    act = "claim"    // a Machine, by delete-machine, as a person or an autoscaler does
	release  act = "release"  // what was claimed
	scale    act = "scale"    // from three to five, or back
	rollOut  act = "roll out" // all machines, by rollout.after
	renew    act = "renew"    // the infrastructure template, by one of another name
	pause    act = "pause"    // the control plane's controller
	resume   act = "resume"   // it
	upgrade  act = "upgrade"  // Kubernetes, once
	hold     act = "hold"     // a Machine that is to go, by a hook, so that a rollout stops
	letGo    act = "let go"   // what was held
	strip    act = "strip"    // what Faultline writes into annotations, by a mutating policy
	keep     act = "keep"     // annotations again
)

// weights say how often an act is drawn that can be done.
func weights() map[act]int {
	return map[act]int{
		cordon: 2, evict: 6, activate: 5, lose: 2, restore: 2, remove: 2, fail: 5, stop: 1, start: 3, claim: 1, release: 3, scale: 3, rollOut: 1, renew: 1,
		pause: 1, resume: 4, upgrade: 3, hold: 4, letGo: 3, strip: 4, keep: 4,
	}
}

// phase is a part of a move, or of a rollout.
type phase string

const (
	never     phase = ""
	recorded  phase = "a move is recorded"
	marked    phase = "a Machine is marked"
	outdated  phase = "a Machine looks outdated"
	replaced  phase = "there is a replacement"
	leaving   phase = "the moved Machine goes"
	takenBack phase = "a move is taken back"
	surging   phase = "there is a Machine too many"
)

func phases() []phase { return []phase{recorded, marked, outdated, replaced, leaving, takenBack} }

const (
	fewestSteps = 3
	mostSteps   = 8
	longestStep = 8 * time.Second
	meanStep    = 2 * time.Second
	// tightOnes is the share of control planes for which there are no more places than it takes, rolled that of those that replace all
	// machines rather than one, killers that of the steps at which the manager is killed, and amid that of those that come in the
	// middle of a move. One of moved machines that fail in the middle of a move is any, the others are those that it is about.
	tightOnes, rolled, killers, amid, moved = 6, 5, 2, 2, 4
	// goesOn is how many times more often a script goes on than it ends.
	goesOn = 4
	// roomy is a place for each of five machines and for one more, in one failure domain.
	roomy = 6
)

// step is an act with what it is done to.
type step struct {
	act act
	// pick chooses among what there is then.
	pick int
	// when is the phase of a move that is waited for, kill the one at which the manager is killed from then on.
	when, kill phase
	// pause is how long it takes until the next step.
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

// script is all that is drawn from a seed.
type script struct {
	seed                   uint64
	mode                   faultlinev1.ControlPlaneRebalance
	replicas, domains      int
	room                   int // places in each failure domain
	stabilization          int64
	graceSeconds, holdSecs int
	steps                  []step
}

// draw draws what happens.
func draw(seed uint64) script {
	random := provider.Random(seed, "rebalance")
	s := script{
		seed: seed, mode: faultlinev1.ControlPlaneRebalanceSurgeOne, replicas: 3 + 2*random.IntN(2), domains: 2 + random.IntN(3), room: roomy,
		stabilization: int64(random.IntN(2)), graceSeconds: random.IntN(2), holdSecs: random.IntN(3),
	}
	if random.IntN(tightOnes) == 0 {
		s.room = (s.replicas+s.domains-1)/s.domains + 1
	}
	// Without a failure domain to be emptied there is nothing to be moved.
	s.steps = []step{{act: evict, pick: random.IntN(1 << 16), kill: provider.Pick(random, phases())}}
	can := map[act]bool{restore: false, start: false, release: false, resume: false, letGo: false, keep: false}
	for len(s.steps) < fewestSteps || len(s.steps) < mostSteps && random.IntN(goesOn) > 0 {
		s.steps = append(s.steps, drawStep(random, can))
	}
	if random.IntN(rolled) == 0 {
		s.rollOut()
	}
	return s
}

// rollOut has the control plane replace all machines where it would move one. A rollout has one phase that shows, and needs room in any
// failure domain.
func (s *script) rollOut() {
	s.mode, s.room = faultlinev1.ControlPlaneRebalanceRolloutAfter, roomy
	for i := range s.steps {
		for _, at := range []*phase{&s.steps[i].when, &s.steps[i].kill} {
			if *at != never {
				*at = surging
			}
		}
	}
}

// drawStep draws one of the acts that can be done after those before.
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
	undone := map[act]act{lose: restore, stop: start, claim: release, pause: resume, hold: letGo, strip: keep}
	for does, undoes := range undone {
		if s.act == does || s.act == undoes {
			can[does], can[undoes] = s.act == undoes, s.act == does
		}
	}
	return s
}

// name is that of the cluster and of its namespace.
func (s script) name() string { return fmt.Sprintf("seed-%d", s.seed) }

// tight reports whether there are no more places than it takes.
func (s script) tight() bool { return s.room < roomy }

// domainNames are short, as hosts are called after them, and no other cluster's.
func (s script) domainNames() []string {
	names := make([]string, s.domains)
	for i := range names {
		names[i] = fmt.Sprintf("s%d-%c", s.seed, 'a'+rune(i))
	}
	return names
}

// picked chooses one of several.
func picked[T any](s step, from []T) (T, bool) {
	if len(from) == 0 {
		var none T
		return none, false
	}
	return from[s.pick%len(from)], true
}
