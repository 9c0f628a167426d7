// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// Two servers of one process share nothing, and each stands many clients at once.
func TestServersSideBySide(t *testing.T) {
	t.Parallel()
	const vms = 20
	servers := []*simulator.Server{simulator.Start(t, simulator.ThreeZones()), simulator.Start(t, simulator.HostGroups())}
	pools := []string{"/dc-1/host/zone-b/Resources", "/dc-1/host/cluster-1/Resources"}
	var wg sync.WaitGroup
	var streams []*stream
	for i, s := range servers {
		c := connect(t, s, "dc-1")
		streams = append(streams, connect(t, s, "").follow(map[string][]string{"VirtualMachine": {"name", "guest.net", "config", "summary"}}))
		spec := c.cloneSpec(pools[i], "shared")
		for n := range vms {
			wg.Go(func() { c.powerOn(c.clone(fmt.Sprintf("vm-%d-%d", i, n), spec)) })
		}
	}
	for i, s := range servers {
		eventually(t, "the stream sees all", func() bool { return streams[i].count("VirtualMachine") == vms+1 && len(s.VMs()) == vms })
	}
	wg.Wait()
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

// Of many clones with one name exactly one succeeds.
func TestOneNameOneVM(t *testing.T) {
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
