// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// mode is how a vCenter behaves.
type mode struct {
	provider.Mode
	// options are for its start.
	options []simulator.Option
	// begin is done once, disturb before each kill, calm when all is to come to rest;
	// each may be nil.
	begin   func(*simulator.Server)
	disturb func(*target, *rand.Rand) error
	calm    func(*target) error
}

func stormModes() []mode {
	return []mode{
		{Mode: provider.Mode{Name: "obedient", Is: "vCenter does what it is told, at once"}},
		{
			Mode:    provider.Mode{Name: "slow", Is: "tasks take seconds, answers and guests their time"},
			options: []simulator.Option{simulator.WithGuestDelay(time.Second)},
			begin: func(vcenter *simulator.Server) {
				vcenter.DelayTasks(simulator.AllTasks, 1500*time.Millisecond)
				vcenter.SetDelay(50 * time.Millisecond)
			},
		},
		{Mode: provider.Mode{Name: "failing", Is: "tasks fail now and then"}, disturb: (*target).failTask, calm: (*target).failNoTask},
		{Mode: provider.Mode{Name: "lost-answers", Is: "calls are carried out, but their answers get lost"}, disturb: (*target).loseAnswer, calm: (*target).loseNoAnswer},
		{Mode: provider.Mode{Name: "restarts", Is: "vCenter is away for a moment, and forgets sessions and tasks"}, disturb: (*target).restart, calm: (*target).backUp},
		{Mode: provider.Mode{Name: "hidden", Is: "VMs are out of sight for a while"}, disturb: (*target).hide, calm: (*target).showAll},
		{Mode: provider.Mode{Name: "lost-hosts", Is: "vCenter loses hosts for a while"}, disturb: (*target).loseHost, calm: (*target).reconnect},
		{Mode: provider.Mode{Name: "silent", Is: "nothing tells of changes of recent tasks"}, options: []simulator.Option{simulator.WithSilentRecentTasks()}},
		{Mode: provider.Mode{Name: "stock", Is: "changes reach clients by vcsim's own collector, late or not at all"}, options: []simulator.Option{simulator.WithStockCollector()}},
	}
}

// taskMethods start the tasks of a machine's life.
func taskMethods() []string {
	return []string{"CloneVM_Task", "ReconfigVM_Task", "ReconfigureComputeResource_Task", "PowerOnVM_Task", "PowerOffVM_Task", "Destroy_Task"}
}

// failTask lets the next task of a method fail. One in a few is enough: what failed is
// tried again after a minute.
func (v *target) failTask(random *rand.Rand) error {
	method, fails := provider.Pick(random, taskMethods()), random.IntN(4) == 0
	if fails {
		v.vcenter.FailTasks(method, 1, "An error occurred while communicating with the remote host.")
	}
	return nil
}

func (v *target) failNoTask() error {
	for _, method := range taskMethods() {
		v.vcenter.FailTasks(method, 0, "")
	}
	return nil
}

// losable are the calls whose answers get lost: those that start tasks, and some of
// those that look.
func losable() []string {
	return append(taskMethods(), "RetrievePropertiesEx", "WaitForUpdatesEx", "Login",
		"REST POST /rest/com/vmware/cis/tagging/tag-association?~action=attach-multiple-tags-to-object")
}

func (v *target) loseAnswer(random *rand.Rand) error {
	v.vcenter.LoseAnswers(provider.Pick(random, losable()), 1+random.IntN(2))
	return nil
}

func (v *target) loseNoAnswer() error {
	for _, method := range losable() {
		v.vcenter.LoseAnswers(method, 0)
	}
	return nil
}

// restart takes vCenter away for up to a second, with or without its memory.
func (v *target) restart(random *rand.Rand) error {
	away, after, what := time.Duration(random.Int64N(int64(time.Second))), time.Duration(random.Int64N(int64(time.Second))), random.IntN(4)
	v.later(after, func() {
		switch what {
		case 0:
			v.vcenter.ExpireSessions()
		case 1:
			v.vcenter.ForgetTasks()
		case 2:
			v.vcenter.SetDown(true)
			v.vcenter.ExpireSessions()
			v.vcenter.ForgetTasks()
		default:
			v.vcenter.SetDown(true)
		}
	})
	v.later(after+away, func() { v.vcenter.SetDown(false) })
	return nil
}

// later does something while the manager works.
func (v *target) later(after time.Duration, do func()) {
	v.pending.Add(1)
	time.AfterFunc(after, func() {
		defer v.pending.Done()
		do()
	})
}

func (v *target) backUp() error {
	v.pending.Wait()
	v.vcenter.SetDown(false)
	return nil
}

// hide takes up to two VMs out of sight and shows those of before.
func (v *target) hide(random *rand.Rand) error {
	if err := v.showAll(); err != nil {
		return err
	}
	for range random.IntN(3) {
		vms := slices.DeleteFunc(v.vcenter.VMs(), func(vm simulator.VM) bool { return slices.Contains(v.hidden, vm.Ref) })
		if len(vms) == 0 {
			return nil
		}
		ref := provider.Pick(random, vms).Ref
		if err := v.vcenter.HideVM(ref); err != nil {
			return v.unlessGone(ref, err)
		}
		v.hidden = append(v.hidden, ref)
	}
	return nil
}

func (v *target) showAll() error {
	for _, ref := range v.hidden {
		if err := v.vcenter.ShowVM(ref); err != nil {
			if err := v.unlessGone(ref, err); err != nil {
				return err
			}
		}
	}
	v.hidden = nil
	return nil
}

// unlessGone is an error about a VM, nil when it has gone meanwhile.
func (v *target) unlessGone(ref string, err error) error {
	if slices.ContainsFunc(v.vcenter.VMs(), func(vm simulator.VM) bool { return vm.Ref == ref }) {
		return err
	}
	return nil
}

// loseHost disconnects a host and brings back the one of before.
func (v *target) loseHost(random *rand.Rand) error {
	if err := v.reconnect(); err != nil {
		return err
	}
	var hosts [][2]string
	for _, letter := range []string{"a", "b", "c"} {
		hosts = append(hosts, [2]string{rackCluster, "host-" + letter + "-1"}, [2]string{rackCluster, "host-" + letter + "-2"})
	}
	hosts = append(hosts, [2]string{ownCluster, "host-d-1"}, [2]string{ownCluster, "host-d-2"})
	lost := provider.Pick(random, hosts)
	return v.vcenter.DisconnectHosts(lost[0], lost[1])
}

func (v *target) reconnect() error {
	return errors.Join(v.vcenter.ReconnectHosts(rackCluster), v.vcenter.ReconnectHosts(ownCluster))
}
