// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"time"

	"github.com/faultline-io/faultline/shared/faults"
)

// Fault is a way in which a vCenter breaks a rule that its clients may rely on. Chaos tests, the flags of cmd/vcsim, WithFault,
// SetFault and the tests of all faults read them from Faults.
type Fault = faults.Fault[*Server, Option, *Server]

// Chaos configures how a fault is applied at random while machines are created and deleted.
type Chaos = faults.Chaos[*Server]

// Faults returns all faults. Add an entry to add a fault.
func Faults() []Fault { //nolint:funlen // The table has an entry for each fault.
	return []Fault{
		{
			Name: "slow", Is: "tasks, responses and boots of guests are slow", Breaks: "Tasks, calls and boots complete immediately.",
			Options: []Option{WithGuestDelay(time.Second)}, Set: local(setSlow), Chaos: &Chaos{},
		},
		{
			Name: "failing", Is: "the next task of a method fails", Breaks: "A task that has started succeeds.",
			Takes: []string{"method"}, Set: local(setFailing),
			Chaos: &Chaos{Targets: eachTaskMethod, AtOnce: []int{0, 0, 0, 1}, Stays: true},
		},
		{
			Name: "lost-answers", Is: "calls are executed, but their responses are lost", Breaks: "A call without a response has had no effect.",
			Takes: []string{"call"}, MayTake: []string{"number"}, Set: local(setLostAnswers),
			Chaos: &Chaos{Targets: eachAnswer, AtOnce: []int{1}, Stays: true},
		},
		{
			Name: "restarts", Is: "vCenter restarts: it resets connections and loses sessions and tasks", Breaks: "Sessions do not expire, and the result of a task can be read.",
			Takes: []string{"what"}, Set: local(setRestart),
			Chaos: &Chaos{Targets: eachRestart, AtOnce: []int{1}, Brief: true},
		},
		{
			Name: "hidden", Is: "a VM is temporarily hidden", Breaks: "A VM that is not found has been deleted.",
			Takes: []string{"vm"}, Set: local(setHidden),
			Chaos: &Chaos{Targets: eachVM, AtOnce: []int{0, 1, 2}},
		},
		{
			Name: "lost-hosts", Is: "hosts are disconnected from vCenter", Breaks: "VMs can be powered on and off, changed and deleted.",
			Takes: []string{"cluster"}, MayTake: []string{"host"}, Set: local(setLostHosts),
			Chaos: &Chaos{Targets: eachHostName, AtOnce: []int{1}},
		},
		{
			Name: "silent", Is: "vCenter does not report changes of recent tasks", Breaks: "The list of recent tasks is up to date.",
			Options: []Option{WithSilentRecentTasks()}, Chaos: &Chaos{},
		},
		{
			Name: "stock", Is: "vcsim's own property collector reports changes late or not at all", Breaks: "A client that waits for a change is notified of it.",
			Options: []Option{WithStockCollector()}, Chaos: &Chaos{},
		},
		{
			Name: "down", Is: "vCenter resets all connections", Breaks: "vCenter is reachable.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.SetDown(on); return nil }),
		},
		{
			Name: "lost-datastores", Is: "the datastore is removed from the inventory", Breaks: "VMs can be powered on, and cloned to the datastore of existing ones.",
			Takes: []string{"datacenter", "datastore"}, Set: local(setLostDatastore),
		},
		{
			Name: "held", Is: "tasks keep running without effect", Breaks: "Tasks end.",
			Takes: []string{"method"}, Set: local(setHeld),
		},
		{
			Name: "overloaded", Is: "the proxy in front of vCenter responds to a call with an HTML error page", Breaks: "Responses come from vCenter.",
			Takes: []string{"call"}, Set: local(setOverloaded),
		},
		{
			Name: "hanging", Is: "a call hangs and is not executed", Breaks: "A call to an unresponsive part of vCenter fails.",
			Takes: []string{"call"}, Set: local(func(s *Server, on bool, args ...string) error { s.HoldCalls(args[0], on); return nil }),
		},
		{
			Name: "full-hosts", Is: "DRS does not start VMs on the hosts", Breaks: "A connected host has capacity for VMs.",
			Takes: []string{"cluster"}, MayTake: []string{"host"}, Set: local(setFullHosts),
		},
		{
			Name: "hidden-clones", Is: "clones do not appear in any folder", Breaks: "A client can find the VMs that it has created.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.HideClones(on); return nil }),
		},
		{
			Name: "withheld-uuids", Is: "clones appear without UUIDs", Breaks: "A VM that is found has its UUIDs.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.WithholdUUIDs(on); return nil }),
		},
		{
			Name: "no-policies", Is: "the account cannot read storage policies", Breaks: "An account that can create VMs can choose their storage policies.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.SetPolicyAccess(!on); return nil }),
		},
		{
			Name: "no-tagging", Is: "the account cannot attach tags", Breaks: "An account that can create VMs can tag them.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.SetTagging(!on); return nil }),
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

// local adapts a fault that is set within the Server and needs no context.
func local(set func(s *Server, on bool, args ...string) error) func(context.Context, *Server, bool, ...string) error {
	return func(_ context.Context, s *Server, on bool, args ...string) error { return set(s, on, args...) }
}

// WithFault starts a Server with the named fault.
func WithFault(name string, args ...string) Option {
	return func(o *options) {
		fault, err := faults.Named(Faults(), name)
		if err != nil {
			o.faults = append(o.faults, func(*Server) error { return err })
			return
		}
		for _, opt := range fault.Options {
			opt(o)
		}
		if fault.Set != nil || len(args) > 0 {
			o.faults = append(o.faults, func(s *Server) error { return fault.Make(context.Background(), s, true, args...) })
		}
	}
}
