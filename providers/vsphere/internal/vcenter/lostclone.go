// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"path"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// cloneMethod and cloneID are the names of a clone's task.
	cloneMethod, cloneID = "CloneVM_Task", "VirtualMachine.clone"
	// historyPage is the most that vCenter shows of its history at once.
	historyPage = 1000
	// clockSkew is how far the clocks of vCenter and of the API server may be apart.
	clockSkew = 5 * time.Minute
)

// LostClone is what is known of a clone whose task nobody has a record of.
type LostClone struct {
	Datacenter, Template string    // as CloneVM was asked
	Name                 string    // of the new virtual machine
	Before               time.Time // by which it was started, if it was
}

// Cloning reports whether a virtual machine may be on its way whose clone was started and not recorded: a clone of the
// template is under way, or there is a virtual machine of the name that has no UUID yet. The clones that were found are
// followed, so that a TaskDone event tells of their end.
func (s *Session) Cloning(ctx context.Context, lost LostClone) (bool, error) {
	if s.index.unfinished(lost.Name) {
		return true, nil
	}
	clones, err := s.runningClones(ctx)
	if err != nil {
		return false, err
	}
	template, unknown := s.Template(lost.Datacenter, lost.Template)
	found := false
	for _, info := range clones {
		if info.QueueTime.After(lost.Before.Add(clockSkew)) {
			continue // somebody else's, else a template that is cloned without pause would hold the caller for ever
		}
		// A template may have been replaced under its name since, or be gone.
		same := info.Entity != nil && info.Entity.String() == template.Ref || info.EntityName == path.Base(lost.Template)
		if unknown != nil || same {
			s.followTask(info.Task, Task{Ref: info.Task.Value, State: TaskState(info.State)})
			found = true
		}
	}
	return found, nil
}

// runningClones reads the clones under way from vCenter's history of tasks, which is complete where the list of recent tasks
// is not. What it shows of an entity does not depend on whether the entity still exists.
func (s *Session) runningClones(ctx context.Context) ([]types.TaskInfo, error) {
	var clones []types.TaskInfo
	err := s.call(ctx, "looking for running clones", func(ctx context.Context, rt soap.RoundTripper) error {
		client := &vim25.Client{Client: s.client.Client, ServiceContent: s.client.ServiceContent, RoundTripper: rt}
		history, err := task.NewManager(client).CreateCollectorForTasks(ctx, types.TaskFilterSpec{
			State: []types.TaskInfoState{types.TaskInfoStateQueued, types.TaskInfoStateRunning},
		})
		if err != nil {
			return err
		}
		defer func() {
			if err := history.Destroy(ctx); err != nil {
				s.opts.Log.Debug("closing the history of tasks", "server", s.server, "error", err)
			}
		}()
		if err := history.SetPageSize(ctx, historyPage); err != nil {
			return err
		}
		var read mo.TaskHistoryCollector
		err = property.DefaultCollector(client).RetrieveOne(ctx, history.Reference(), []string{"latestPage"}, &read)
		for _, info := range read.LatestPage {
			underWay := info.State == types.TaskInfoStateQueued || info.State == types.TaskInfoStateRunning
			if underWay && (info.Name == cloneMethod || info.DescriptionId == cloneID) {
				clones = append(clones, info)
			}
		}
		return err
	})
	return clones, err
}

// unfinished reports whether a virtual machine of the name has no UUID yet.
func (ix *index) unfinished(name string) bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for _, r := range ix.names[nameKey(kindVM, name)] {
		if ix.vms[r].instanceUUID == "" {
			return true
		}
	}
	return false
}
