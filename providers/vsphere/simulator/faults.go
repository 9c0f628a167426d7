// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"time"

	"github.com/faultline-io/faultline/shared/faults"
)

// Fault is a way in which a vCenter breaks a rule that its clients may rely on. Storms, the switches of cmd/vcsim, WithFault,
// SetFault and the tests of all faults read them from Faults.
type Fault = faults.Fault[*Server, Option, *Server]

// Storm configures how a fault is applied at random while machines are created and deleted.
type Storm = faults.Storm[*Server]

// Faults returns all faults. Add an entry to add a fault.
func Faults() []Fault { //nolint:funlen // A table: it has a row for each.
	return []Fault{
		{
			Name: "slow", Is: "tasks take seconds, answers and guests their time", Breaks: "A task, a call or a boot is over at once.",
			Options: []Option{WithGuestDelay(time.Second)}, Set: local(setSlow), Storm: &Storm{},
		},
		{
			Name: "failing", Is: "tasks fail now and then", Breaks: "A task that has started does what was asked for.",
			Takes: []string{"method"}, Set: local(setFailing),
			Storm: &Storm{Targets: eachTaskMethod, AtOnce: []int{0, 0, 0, 1}, Stays: true},
		},
		{
			Name: "lost-answers", Is: "calls are carried out, but their answers get lost", Breaks: "A call without an answer has done nothing.",
			Takes: []string{"call"}, MayTake: []string{"number"}, Set: local(setLostAnswers),
			Storm: &Storm{Targets: eachAnswer, AtOnce: []int{1}, Stays: true},
		},
		{
			Name: "restarts", Is: "vCenter is away for a moment, and forgets sessions and tasks", Breaks: "A session lasts, and the result of a task can be asked for.",
			Takes: []string{"what"}, Set: local(setRestart),
			Storm: &Storm{Targets: eachRestart, AtOnce: []int{1}, Brief: true},
		},
		{
			Name: "hidden", Is: "VMs are out of sight for a while", Breaks: "A VM that cannot be found has gone.",
			Takes: []string{"vm"}, Set: local(setHidden),
			Storm: &Storm{Targets: eachVM, AtOnce: []int{0, 1, 2}},
		},
		{
			Name: "lost-hosts", Is: "vCenter loses hosts for a while", Breaks: "A VM can be powered, changed and deleted.",
			Takes: []string{"cluster"}, MayTake: []string{"host"}, Set: local(setLostHosts),
			Storm: &Storm{Targets: eachHostName, AtOnce: []int{1}},
		},
		{
			Name: "silent", Is: "nothing tells of changes of recent tasks", Breaks: "The list of recent tasks is up to date.",
			Options: []Option{WithSilentRecentTasks()}, Storm: &Storm{},
		},
		{
			Name: "stock", Is: "changes reach clients by vcsim's own collector, late or not at all", Breaks: "Who waits for a change is told of it.",
			Options: []Option{WithStockCollector()}, Storm: &Storm{},
		},
		{
			Name: "down", Is: "vCenter does not answer", Breaks: "A call is answered.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.SetDown(on); return nil }),
		},
		{
			Name: "lost-datastores", Is: "the datastore is gone", Breaks: "A VM can be powered on, and cloned to where others are.",
			Takes: []string{"datacenter", "datastore"}, Set: local(setLostDatastore),
		},
		{
			Name: "held", Is: "tasks run on and on, without effect", Breaks: "A task ends.",
			Takes: []string{"method"}, Set: local(setHeld),
		},
		{
			Name: "overloaded", Is: "the proxy in front of vCenter answers a call with a page for people", Breaks: "An answer is vCenter's.",
			Takes: []string{"call"}, Set: local(setOverloaded),
		},
		{
			Name: "hanging", Is: "a call is neither carried out nor answered", Breaks: "A part of vCenter that answers no more keeps nobody waiting.",
			Takes: []string{"call"}, Set: local(func(s *Server, on bool, args ...string) error { s.HoldCalls(args[0], on); return nil }),
		},
		{
			Name: "full-hosts", Is: "DRS starts no VM on the hosts", Breaks: "A host that is connected takes VMs.",
			Takes: []string{"cluster"}, MayTake: []string{"host"}, Set: local(setFullHosts),
		},
		{
			Name: "hidden-clones", Is: "clones appear in no folder", Breaks: "Who has made a VM can find it.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.HideClones(on); return nil }),
		},
		{
			Name: "withheld-uuids", Is: "clones appear without their UUIDs", Breaks: "A VM that can be found says which it is.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.WithholdUUIDs(on); return nil }),
		},
		{
			Name: "no-policies", Is: "the account may not see storage policies", Breaks: "An account that may make a VM may say how it is kept.",
			Set: local(func(s *Server, on bool, _ ...string) error { s.SetPolicyAccess(!on); return nil }),
		},
		{
			Name: "no-tagging", Is: "the account may not attach tags", Breaks: "An account that may make a VM may tag it.",
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
			o.begin = append(o.begin, func(*Server) error { return err })
			return
		}
		for _, opt := range fault.Options {
			opt(o)
		}
		if fault.Set != nil || len(args) > 0 {
			o.begin = append(o.begin, func(s *Server) error { return fault.Make(context.Background(), s, true, args...) })
		}
	}
}
