// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
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
	TemplateRef  string    // of the template; "" stands for any
	InstanceUUID string    // of the new virtual machine
	Before       time.Time // by which it was started, if it was
}

// Cloning reports whether a clone is under way that may be the lost one, or vCenter has what it made and the stream does not
// show it yet. The clones that were found are followed, so that a TaskDone event tells of their end. The template is known by
// its reference: it may have been replaced under its name since.
func (s *Session) Cloning(ctx context.Context, lost LostClone) (bool, error) {
	clones, err := s.runningClones(ctx)
	if err != nil {
		return false, err
	}
	found := false
	for _, info := range clones {
		if info.QueueTime.After(lost.Before.Add(clockSkew)) {
			continue // somebody else's, else a template that is cloned without pause would hold the caller for ever
		}
		if lost.TemplateRef == "" || info.Entity != nil && info.Entity.String() == lost.TemplateRef {
			s.stream.FollowTask(info.Task, inventory.Task{Ref: info.Task.Value, State: inventory.TaskState(info.State)})
			found = true
		}
	}
	if found {
		return true, nil
	}
	return s.made(ctx, lost.InstanceUUID) // asked after the clones: one that ended meanwhile has made it
}

// made asks vCenter itself for a virtual machine: the end of its clone may be known before the stream shows it.
func (s *Session) made(ctx context.Context, instanceUUID string) (bool, error) {
	var found bool
	err := s.api.Call(ctx, "looking for instance UUID "+instanceUUID, func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.FindByUuid(ctx, rt, &types.FindByUuid{
			This: *s.api.ServiceContent.SearchIndex, Uuid: instanceUUID, VmSearch: true, InstanceUuid: types.NewBool(true),
		})
		found = err == nil && res.Returnval != nil
		return err
	})
	return found, err
}

// runningClones reads the clones under way from vCenter's history of tasks, which is complete where the list of recent tasks
// is not. What it shows of an entity does not depend on whether the entity still exists.
func (s *Session) runningClones(ctx context.Context) ([]types.TaskInfo, error) {
	var clones []types.TaskInfo
	err := s.api.Call(ctx, "looking for running clones", func(ctx context.Context, rt soap.RoundTripper) error {
		client := &vim25.Client{Client: s.api.Client.Client, ServiceContent: s.api.ServiceContent, RoundTripper: rt}
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
