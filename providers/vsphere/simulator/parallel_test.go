// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"fmt"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// Two servers of a process are independent, and each can serve many clients.
func TestIndependentServers(t *testing.T) {
	t.Parallel()
	const vms = 20
	servers := []*simulator.Server{simulator.Start(t, simulator.ThreeZones()), simulator.Start(t, simulator.HostGroups())}
	pools := []string{"/dc-1/host/zone-b/Resources", "/dc-1/host/cluster-1/Resources"}
	var streams []*stream
	ready := make(chan error)
	for i, s := range servers {
		c := connect(t, s, "dc-1")
		streams = append(streams, connect(t, s, "").follow(map[string][]string{"VirtualMachine": {"name", "guest.net", "config", "summary"}}))
		spec := c.cloneSpec(pools[i], "shared")
		for n := range vms {
			task := c.startClone(fmt.Sprintf("vm-%d-%d", i, n), spec)
			go func() { ready <- c.bringUp(task) }()
		}
	}
	for range vms * len(servers) {
		if err := <-ready; err != nil {
			t.Errorf("bringing up a VM: %v", err)
		}
	}
	for i, st := range streams {
		eventually(t, fmt.Sprintf("stream %d sees all VMs", i), func() bool { return st.count("VirtualMachine") == vms+1 })
	}
	for i, s := range servers {
		if n := len(s.VMs()); n != vms {
			t.Errorf("server %d has %d VMs", i, n)
		}
		if calls := s.Calls(); calls["CloneVM_Task"] != vms || calls["PowerOnVM_Task"] != vms {
			t.Errorf("server %d counts %v", i, calls)
		}
		if _, ok := s.VM(fmt.Sprintf("vm-%d-0", 1-i)); ok {
			t.Errorf("server %d has a VM of the other", i)
		}
	}
	servers[0].SetDown(true)
	connect(t, servers[1], "dc-1")
}

// bringUp waits for the clone and powers it on. It can be called on any goroutine.
func (c *client) bringUp(clone *object.Task) error {
	info, err := clone.WaitForResult(c.t.Context())
	if err != nil {
		return err
	}
	vm := object.NewVirtualMachine(c.Client.Client, info.Result.(types.ManagedObjectReference))
	on, err := vm.PowerOn(c.t.Context())
	if err != nil {
		return err
	}
	return on.Wait(c.t.Context())
}

// Of many clones with the same name exactly one succeeds.
func TestClonesWithTheSameName(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	outcome := make(chan error, 10)
	for range cap(outcome) {
		task := c.startClone("vm", spec)
		go func() { outcome <- task.Wait(t.Context()) }()
	}
	made := 0
	for range cap(outcome) {
		if <-outcome == nil {
			made++
		}
	}
	if made != 1 || len(s.VMs()) != 1 {
		t.Errorf("%d clones succeeded, there are %d VMs", made, len(s.VMs()))
	}
}
