// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// history returns the tasks in the states from the task history.
func (c *client) history(page int32, states ...types.TaskInfoState) []types.TaskInfo {
	c.t.Helper()
	collector := must(task.NewManager(c.Client.Client).CreateCollectorForTasks(c.t.Context(), types.TaskFilterSpec{State: states}))(c.t)
	must(0, collector.SetPageSize(c.t.Context(), page))(c.t)
	var shown mo.TaskHistoryCollector
	must(0, property.DefaultCollector(c.Client.Client).RetrieveOne(c.t.Context(), collector.Reference(), []string{"latestPage"}, &shown))(c.t)
	must(0, collector.Destroy(c.t.Context()))(c.t)
	return shown.LatestPage
}

func TestHistoryListsRunningTasks(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	c.clone("ended", spec)
	s.HoldTasks("CloneVM_Task")
	var held []types.ManagedObjectReference
	for i := range 12 {
		held = append(held, c.startClone(fmt.Sprintf("held-%d", i), spec).Reference())
	}
	slices.Reverse(held)
	shown := func(page int32) (refs []types.ManagedObjectReference) {
		for _, info := range c.history(page, types.TaskInfoStateQueued, types.TaskInfoStateRunning) {
			refs = append(refs, info.Task)
		}
		return refs
	}
	if got := shown(1000); !slices.Equal(got, held) {
		t.Errorf("running tasks are %v, want %v", got, held)
	}
	if got := shown(0); !slices.Equal(got, held[:10]) {
		t.Errorf("the default page is %v", got)
	}
	if info := c.history(1, types.TaskInfoStateRunning)[0]; info.Name != "CloneVM_Task" || info.EntityName != simulator.TemplateName {
		t.Errorf("the newest is %+v", info)
	}
	s.ReleaseTasks("CloneVM_Task")
	eventually(t, "all have ended", func() bool { return len(shown(1000)) == 0 })
	if all := c.history(1000); len(all) < 13 {
		t.Errorf("the history has %d tasks", len(all))
	}
}

// A client that does not destroy its collectors reaches the limit.
func TestHistoryCollectorLimit(t *testing.T) {
	t.Parallel()
	c := connect(t, simulator.Start(t, simulator.ThreeZones()), "dc-1")
	manager := task.NewManager(c.Client.Client)
	made := 0
	for ; made < 100; made++ {
		if _, err := manager.CreateCollectorForTasks(t.Context(), types.TaskFilterSpec{}); err != nil {
			if !isFault(err, &types.InvalidState{}) {
				t.Errorf("after %d collectors: %v", made, err)
			}
			break
		}
	}
	if made != 32 {
		t.Errorf("%d collectors were created", made)
	}
}

// Clients read the history while other clients start tasks and tasks end.
func TestHistoryDuringTasks(t *testing.T) {
	t.Parallel()
	const vms = 15
	s := simulator.Start(t, simulator.ThreeZones())
	maker, reader := connect(t, s, "dc-1"), connect(t, s, "dc-1")
	spec := maker.cloneSpec("/dc-1/host/zone-a/Resources", "shared")
	ready := make(chan error, vms)
	for i := range vms {
		clone := maker.startClone(fmt.Sprintf("vm-%d", i), spec)
		go func() { ready <- maker.bringUp(clone) }()
	}
	for done := 0; done < vms; {
		for _, info := range reader.history(1000, types.TaskInfoStateRunning) {
			if info.State != types.TaskInfoStateRunning || info.StartTime == nil || info.CompleteTime != nil {
				t.Errorf("a running task is %+v", info)
			}
		}
		select {
		case err := <-ready:
			must(0, err)(t)
			done++
		default:
		}
	}
}
