// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

const limitOfTime = 10 * time.Minute

// at returns the first of two attempts, which began a minute ago, with a running host.
func at(phase infrav1.RemediationPhase, changes ...func(*situation)) situation {
	s := situation{
		phase: phase, tries: 1, limit: 2, elapsed: time.Minute, timeout: limitOfTime, unfinished: true,
		host: hostState{found: true, wanted: true, running: true},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func powerOffRequested(s *situation) { s.host.powerOffRequested = true }
func off(s *situation)               { s.host.running = false }
func finished(s *situation)          { s.unfinished = false }
func late(s *situation)              { s.elapsed = limitOfTime }
func lastTry(s *situation)           { s.tries = s.limit }
func noHost(s *situation)            { s.host = hostState{} }
func unwanted(s *situation)          { s.host.wanted = false }
func mustRun(s *situation)           { s.host.mustRun = true }
func early(s *situation)             { s.elapsed = time.Second }
func halfTime(s *situation)          { s.elapsed = limitOfTime / 2 }

func old(s *situation)    { s.taintUnsupported = true }
func backed(s *situation) { s.backedUp = true }

func with(state nodeState) func(*situation) {
	return func(s *situation) { s.node = state }
}

func TestNext(t *testing.T) {
	t.Parallel()
	const (
		running  = infrav1.RemediationRunning
		waiting  = infrav1.RemediationWaiting
		deleting = infrav1.RemediationDeletingMachine
		failed   = infrav1.RemediationFailed
		rest     = limitOfTime - time.Minute
	)
	retry, giveUp := step{phase: running, try: true}, step{act: replace, phase: deleting}
	for name, tc := range map[string]struct {
		situation situation
		want      step
	}{
		"new":                          {at(""), retry},
		"host to be powered off":       {at(running), step{act: powerOff, after: rest}},
		"host powers off":              {at(running, powerOffRequested), step{after: rest}},
		"host was off":                 {at(running, off), step{act: powerOff, after: rest}},
		"Node to be taken out":         {at(running, powerOffRequested, off, with(nodeInService)), step{act: fence, after: drainCheck}},
		"old Node to be remembered":    {at(running, powerOffRequested, off, old, with(nodeInService)), step{act: backUp, after: drainCheck}},
		"old Node to be deleted":       {at(running, powerOffRequested, off, old, backed, with(nodeInService)), step{act: deleteNode, after: drainCheck}},
		"old Node is deleted":          {at(running, powerOffRequested, off, backed, with(nodeDeleted)), step{phase: waiting}},
		"Node is being emptied":        {at(running, powerOffRequested, off, with(nodeDraining)), step{after: drainCheck}},
		"Node is empty":                {at(running, powerOffRequested, off, with(nodeDrained)), step{phase: waiting}},
		"Node is deleted":              {at(running, powerOffRequested, off, with(nodeDeleted)), step{phase: waiting}},
		"Node cannot be reached":       {at(running, powerOffRequested, off, early, with(nodeUnreachable)), step{after: limitOfTime/10 - time.Second}},
		"Node takes too long":          {at(running, powerOffRequested, off, halfTime, with(nodeDraining)), step{phase: waiting}},
		"Node cannot ever be reached":  {at(running, powerOffRequested, off, with(nodeUnreachable)), step{phase: waiting}},
		"host may not be off":          {at(running, mustRun), step{act: restart, phase: waiting}},
		"host is meant to be off":      {at(running, unwanted), step{phase: failed}},
		"no host":                      {at(running, noHost), giveUp},
		"host does not power off":      {at(running, powerOffRequested, late), retry},
		"host never powers off":        {at(running, powerOffRequested, late, lastTry), giveUp},
		"host may run":                 {at(waiting, powerOffRequested, off), step{act: powerOn, after: rest}},
		"host powers on":               {at(waiting, off), step{after: rest}},
		"host runs":                    {at(waiting, with(nodeDrained)), step{act: finish, after: rest}},
		"host runs, Node gone":         {at(waiting, with(nodeDeleted)), step{act: finish, after: rest}},
		"host runs, Node not back yet": {at(waiting, backed, with(nodeDeleted)), step{after: rest}},
		"host runs, Node back":         {at(waiting, backed, with(nodeInService)), step{act: finish, after: rest}},
		"Node does not come back":      {at(waiting, backed, late, with(nodeDeleted)), retry},
		"host runs, Node out of reach": {at(waiting, with(nodeUnreachable)), step{after: rest}},
		"Node to get healthy":          {at(waiting, finished), step{after: rest}},
		"Node does not get healthy":    {at(waiting, finished, late), retry},
		"Node never gets healthy":      {at(waiting, finished, late, lastTry), giveUp},
		"host gone meanwhile":          {at(waiting, noHost), giveUp},
		"end":                          {at(deleting), step{}},
		"end with host kept off":       {at(deleting, powerOffRequested), step{act: powerOn}},
		"failed":                       {at(failed, unwanted, off), step{}},
		"failed with host kept off":    {at(failed, unwanted, powerOffRequested), step{act: powerOn}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(tc.situation.next()).To(Equal(tc.want))
		})
	}
}

// fixture simulates the reaction of hosts, Nodes and time to steps.
type fixture struct {
	situation
	crashed bool // the last step was executed, but its phase was not written
	fenced  bool
}

func (f *fixture) execute(t *rapid.T, s step) {
	switch s.act {
	case powerOff:
		f.host.powerOffRequested = true
	case powerOn:
		f.host.powerOffRequested = false
	case fence:
		if f.host.running {
			t.Fatal("a Node is taken out of service while its host runs")
		}
		f.fenced, f.node = true, nodeDraining
	case deleteNode:
		if f.host.running || !f.backedUp {
			t.Fatal("a Node is deleted while its host runs, or before it is remembered")
		}
		f.node = nodeDeleted
	case finish:
		f.fenced = false
	}
	if f.crashed = rapid.IntRange(0, 4).Draw(t, "crash") == 0; f.crashed {
		return
	}
	if s.act == finish {
		f.unfinished, f.backedUp = false, false
	}
	if s.act == backUp {
		f.backedUp = true
	}
	if s.try {
		f.tries, f.elapsed, f.unfinished = f.tries+1, 0, true
	}
	if s.phase != "" {
		f.phase = s.phase
	}
}

func (f *fixture) advance(t *rapid.T, after time.Duration) {
	if rapid.Bool().Draw(t, "power follows") {
		f.host.running = f.host.wanted && !f.host.powerOffRequested
	}
	if f.fenced && rapid.Bool().Draw(t, "drained") {
		f.node = nodeDrained
	}
	if !f.fenced {
		f.node = rapid.SampledFrom([]nodeState{nodeInService, nodeUnreachable, nodeDeleted}).Draw(t, "node")
	}
	if after > 0 {
		f.elapsed += min(after, time.Duration(rapid.IntRange(1, 1200).Draw(t, "seconds"))*time.Second)
	}
}

// Whatever happens, and wherever it is interrupted, a remediation that is not deleted ends after the allowed number of attempts,
// and then keeps no host off.
func TestRemediationTerminates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := &fixture{situation: situation{
			limit: rapid.Int32Range(1, 3).Draw(t, "limit"), timeout: limitOfTime, taintUnsupported: rapid.Bool().Draw(t, "old"),
			host: hostState{found: true, running: rapid.Bool().Draw(t, "runs"), wanted: rapid.IntRange(0, 9).Draw(t, "wanted") > 0},
		}}
		for range 10_000 {
			s := f.next()
			if s == (step{}) {
				break
			}
			f.execute(t, s)
			f.advance(t, s.after)
		}
		if s := f.next(); s != (step{}) {
			t.Fatalf("in phase %q it continues: %+v", f.phase, s)
		}
		if f.phase != infrav1.RemediationDeletingMachine && f.phase != infrav1.RemediationFailed {
			t.Fatalf("it ended in phase %q", f.phase)
		}
		if f.tries > f.limit {
			t.Fatalf("%d tries of %d", f.tries, f.limit)
		}
		if f.host.powerOffRequested {
			t.Fatal("the host is kept off for ever")
		}
	})
}
