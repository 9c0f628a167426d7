// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is a way in which a vCenter breaks a rule that its clients would like to rely on. Storms, the switches of
// cmd/vcsim, WithFault, SetFault and the tests that concern all faults take them from Faults.
type Fault struct {
	// Name is what the fault is called, such as in make storm MODE=.
	Name string
	// Is says what happens.
	Is string
	// Breaks is the rule of vCenter that does not hold then.
	Breaks string
	// Takes names the arguments of Set, and MayTake those that can be left out.
	Takes, MayTake []string
	// Options are what a Server with the fault is started with.
	Options []Option
	// Set makes the fault, or ends it. It is nil where the Options are all there is: such a fault lasts as long as the Server.
	Set func(s *Server, on bool, args ...string) error
	// Storm says how a storm makes the fault; storms leave out a fault without it.
	Storm *Storm
}

// Storm is how a fault is made at random while machines come and go.
type Storm struct {
	// Targets returns the arguments that Set may be called with now. Without it, the fault lasts as long as the storm.
	Targets func(*Server) [][]string
	// AtOnce has the numbers of targets to draw from each time.
	AtOnce []int
	// Stays says that a fault is not ended before the next is made, Brief that it begins and ends in the next two seconds.
	Stays, Brief bool
}

// Faults returns all there are. A further one is a further entry.
func Faults() []Fault { //nolint:funlen // A table: it has a row for each.
	return []Fault{
		{
			Name: "slow", Is: "tasks take seconds, answers and guests their time", Breaks: "A task, a call or a boot is over at once.",
			Options: []Option{WithGuestDelay(time.Second)}, Set: setSlow, Storm: &Storm{},
		},
		{
			Name: "failing", Is: "tasks fail now and then", Breaks: "A task that has started does what was asked for.",
			Takes: []string{"method"}, Set: setFailing,
			Storm: &Storm{Targets: eachTaskMethod, AtOnce: []int{0, 0, 0, 1}, Stays: true},
		},
		{
			Name: "lost-answers", Is: "calls are carried out, but their answers get lost", Breaks: "A call without an answer has done nothing.",
			Takes: []string{"call"}, MayTake: []string{"number"}, Set: setLostAnswers,
			Storm: &Storm{Targets: eachAnswer, AtOnce: []int{1}, Stays: true},
		},
		{
			Name: "restarts", Is: "vCenter is away for a moment, and forgets sessions and tasks", Breaks: "A session lasts, and the result of a task can be asked for.",
			Takes: []string{"what"}, Set: setRestart,
			Storm: &Storm{Targets: eachRestart, AtOnce: []int{1}, Brief: true},
		},
		{
			Name: "hidden", Is: "VMs are out of sight for a while", Breaks: "A VM that cannot be found has gone.",
			Takes: []string{"vm"}, Set: setHidden,
			Storm: &Storm{Targets: eachVM, AtOnce: []int{0, 1, 2}},
		},
		{
			Name: "lost-hosts", Is: "vCenter loses hosts for a while", Breaks: "A VM can be powered, changed and deleted.",
			Takes: []string{"cluster"}, MayTake: []string{"host"}, Set: setLostHosts,
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
			Set: func(s *Server, on bool, _ ...string) error { s.SetDown(on); return nil },
		},
		{
			Name: "lost-datastores", Is: "the datastore is gone", Breaks: "A VM can be powered on, and cloned to where others are.",
			Takes: []string{"datacenter", "datastore"}, Set: setLostDatastore,
		},
		{
			Name: "held", Is: "tasks run on and on, without effect", Breaks: "A task ends.",
			Takes: []string{"method"}, Set: setHeld,
		},
		{
			Name: "overloaded", Is: "the proxy in front of vCenter answers a call with a page for people", Breaks: "An answer is vCenter's.",
			Takes: []string{"call"}, Set: setOverloaded,
		},
		{
			Name: "full-hosts", Is: "DRS starts no VM on the hosts", Breaks: "A host that is connected takes VMs.",
			Takes: []string{"cluster"}, MayTake: []string{"host"}, Set: setFullHosts,
		},
		{
			Name: "hidden-clones", Is: "clones appear in no folder", Breaks: "Who has made a VM can find it.",
			Set: func(s *Server, on bool, _ ...string) error { s.HideClones(on); return nil },
		},
		{
			Name: "withheld-uuids", Is: "clones appear without their UUIDs", Breaks: "A VM that can be found says which it is.",
			Set: func(s *Server, on bool, _ ...string) error { s.WithholdUUIDs(on); return nil },
		},
		{
			Name: "no-tagging", Is: "the account may not attach tags", Breaks: "An account that may make a VM may tag it.",
			Set: func(s *Server, on bool, _ ...string) error { s.SetTagging(!on); return nil },
		},
	}
}

// FaultNamed returns the fault of that name, or an error that lists those there are.
func FaultNamed(name string) (Fault, error) {
	all := Faults()
	i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for j := range all {
			names[j] = all[j].Name
		}
		return Fault{}, fmt.Errorf("there is no fault %q; there are %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// SetFault makes a fault by its name, or ends it.
func (s *Server) SetFault(name string, on bool, args ...string) error {
	fault, err := FaultNamed(name)
	if err != nil {
		return err
	}
	return fault.set(s, on, args)
}

func (f Fault) set(s *Server, on bool, args []string) error {
	if f.Set == nil {
		return fmt.Errorf("fault %s lasts as long as the server: start one with it", f.Name)
	}
	if err := f.check(args); err != nil {
		return err
	}
	return f.Set(s, on, args...)
}

// check reports arguments that are too few or too many.
func (f Fault) check(args []string) error {
	if len(args) >= len(f.Takes) && len(args) <= len(f.Takes)+len(f.MayTake) {
		return nil
	}
	return fmt.Errorf("fault %s has %d arguments; it is %s", f.Name, len(args), f.Usage())
}

// Usage returns the name and the names of the arguments: lost-hosts/cluster/[host].
func (f Fault) Usage() string {
	words := append([]string{f.Name}, f.Takes...)
	for _, word := range f.MayTake {
		words = append(words, "["+word+"]")
	}
	return strings.Join(words, "/")
}

// WithFault starts a Server that has the fault, by its name.
func WithFault(name string, args ...string) Option {
	return func(o *options) {
		fault, err := FaultNamed(name)
		if err != nil {
			o.begin = append(o.begin, func(*Server) error { return err })
			return
		}
		for _, opt := range fault.Options {
			opt(o)
		}
		if fault.Set != nil || len(args) > 0 {
			o.begin = append(o.begin, func(s *Server) error { return fault.set(s, true, args) })
		}
	}
}
