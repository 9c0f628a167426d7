// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// vSphereMode is how a vCenter behaves.
type vSphereMode struct {
	Mode
	// options are for its start.
	options []simulator.Option
	// begin is done once, disturb before each kill, calm when all is to come to rest;
	// each may be nil.
	begin   func(*simulator.Server)
	disturb func(*vSphere, *rand.Rand) error
	calm    func(*vSphere) error
}

func vSphereModes() []vSphereMode {
	return []vSphereMode{
		{Mode: Mode{"obedient", "vCenter does what it is told, at once"}},
		{
			Mode:    Mode{"slow", "tasks take seconds, answers and guests their time"},
			options: []simulator.Option{simulator.WithGuestDelay(time.Second)},
			begin: func(vcenter *simulator.Server) {
				vcenter.DelayTasks(simulator.AllTasks, 1500*time.Millisecond)
				vcenter.SetDelay(50 * time.Millisecond)
			},
		},
		{Mode: Mode{"failing", "tasks fail now and then"}, disturb: (*vSphere).failTask, calm: (*vSphere).failNoTask},
		{Mode: Mode{"lost-answers", "calls are carried out, but their answers get lost"}, disturb: (*vSphere).loseAnswer, calm: (*vSphere).loseNoAnswer},
		{Mode: Mode{"restarts", "vCenter is away for a moment, and forgets sessions and tasks"}, disturb: (*vSphere).restart, calm: (*vSphere).backUp},
		{Mode: Mode{"hidden", "VMs are out of sight for a while"}, disturb: (*vSphere).hide, calm: (*vSphere).showAll},
		{Mode: Mode{"lost-hosts", "vCenter loses hosts for a while"}, disturb: (*vSphere).loseHost, calm: (*vSphere).reconnect},
		{Mode: Mode{"silent", "nothing tells of changes of recent tasks"}, options: []simulator.Option{simulator.WithSilentRecentTasks()}},
		{Mode: Mode{"stock", "changes reach clients by vcsim's own collector, late or not at all"}, options: []simulator.Option{simulator.WithStockCollector()}},
	}
}

// taskMethods start the tasks of a machine's life.
func taskMethods() []string {
	return []string{"CloneVM_Task", "ReconfigVM_Task", "ReconfigureComputeResource_Task", "PowerOnVM_Task", "PowerOffVM_Task", "Destroy_Task"}
}

// failTask lets the next task of a method fail. One in a few is enough: what failed is
// tried again after a minute.
func (v *vSphere) failTask(random *rand.Rand) error {
	method, fails := pick(random, taskMethods()), random.IntN(4) == 0
	if fails {
		v.vcenter.FailTasks(method, 1, "An error occurred while communicating with the remote host.")
	}
	return nil
}

func (v *vSphere) failNoTask() error {
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

func (v *vSphere) loseAnswer(random *rand.Rand) error {
	v.vcenter.LoseAnswers(pick(random, losable()), 1+random.IntN(2))
	return nil
}

func (v *vSphere) loseNoAnswer() error {
	for _, method := range losable() {
		v.vcenter.LoseAnswers(method, 0)
	}
	return nil
}

// restart takes vCenter away for up to a second, with or without its memory.
func (v *vSphere) restart(random *rand.Rand) error {
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
func (v *vSphere) later(after time.Duration, do func()) {
	v.pending.Add(1)
	time.AfterFunc(after, func() {
		defer v.pending.Done()
		do()
	})
}

func (v *vSphere) backUp() error {
	v.pending.Wait()
	v.vcenter.SetDown(false)
	return nil
}

// hide takes up to two VMs out of sight and shows those of before.
func (v *vSphere) hide(random *rand.Rand) error {
	if err := v.showAll(); err != nil {
		return err
	}
	for range random.IntN(3) {
		vms := slices.DeleteFunc(v.vcenter.VMs(), func(vm simulator.VM) bool { return slices.Contains(v.hidden, vm.Ref) })
		if len(vms) == 0 {
			return nil
		}
		ref := pick(random, vms).Ref
		if err := v.vcenter.HideVM(ref); err != nil {
			return v.unlessGone(ref, err)
		}
		v.hidden = append(v.hidden, ref)
	}
	return nil
}

func (v *vSphere) showAll() error {
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
func (v *vSphere) unlessGone(ref string, err error) error {
	if slices.ContainsFunc(v.vcenter.VMs(), func(vm simulator.VM) bool { return vm.Ref == ref }) {
		return err
	}
	return nil
}

// loseHost disconnects a host and brings back the one of before.
func (v *vSphere) loseHost(random *rand.Rand) error {
	if err := v.reconnect(); err != nil {
		return err
	}
	var hosts [][2]string
	for _, letter := range []string{"a", "b", "c"} {
		hosts = append(hosts, [2]string{rackCluster, "host-" + letter + "-1"}, [2]string{rackCluster, "host-" + letter + "-2"})
	}
	hosts = append(hosts, [2]string{ownCluster, "host-d-1"}, [2]string{ownCluster, "host-d-2"})
	lost := pick(random, hosts)
	return v.vcenter.DisconnectHosts(lost[0], lost[1])
}

func (v *vSphere) reconnect() error {
	return errors.Join(v.vcenter.ReconnectHosts(rackCluster), v.vcenter.ReconnectHosts(ownCluster))
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }
