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
	// historyPage is the page size limit of vCenter's task history.
	historyPage = 1000
	// clockSkew is the tolerated difference between the clocks of vCenter and the API server.
	clockSkew = 5 * time.Minute
)

// LostClone describes a clone whose task was not recorded.
type LostClone struct {
	TemplateRef  string    // of the template; "" matches any
	InstanceUUID string    // of the new virtual machine
	Before       time.Time // time before which it was started, if at all
}

// Cloning reports whether a clone is running that may be the lost one, or vCenter has the created virtual machine while the
// stream does not show it yet. It follows the clones that it finds, so that a TaskDone event reports their end. The template is
// identified by reference because another one may have taken its name since.
func (s *Session) Cloning(ctx context.Context, lost LostClone) (bool, error) {
	clones, err := s.runningClones(ctx)
	if err != nil {
		return false, err
	}
	found := false
	for _, info := range clones {
		if info.QueueTime.After(lost.Before.Add(clockSkew)) {
			continue // another owner's; otherwise a template that is cloned continuously would block the caller forever
		}
		if lost.TemplateRef == "" || info.Entity != nil && info.Entity.String() == lost.TemplateRef {
			s.stream.FollowTask(info.Task, inventory.Task{Ref: info.Task.Value, State: inventory.TaskState(info.State)})
			found = true
		}
	}
	if found {
		return true, nil
	}
	return s.made(ctx, lost.InstanceUUID) // checked after the clones: one that ended meanwhile has created it
}

// made reads from vCenter whether a virtual machine exists: the end of its clone may be known before the stream shows the
// machine.
func (s *Session) made(ctx context.Context, instanceUUID string) (bool, error) {
	var found bool
	err := s.api.Call(ctx, "looking up instance UUID "+instanceUUID, func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.FindByUuid(ctx, rt, &types.FindByUuid{
			This: *s.api.ServiceContent.SearchIndex, Uuid: instanceUUID, VmSearch: true, InstanceUuid: types.NewBool(true),
		})
		found = err == nil && res.Returnval != nil
		return err
	})
	return found, err
}

// runningClones reads the running clones from vCenter's task history, which is complete, unlike the list of recent tasks. The
// history of an entity does not depend on whether the entity still exists.
func (s *Session) runningClones(ctx context.Context) ([]types.TaskInfo, error) {
	var clones []types.TaskInfo
	err := s.api.Call(ctx, "listing running clones", func(ctx context.Context, rt soap.RoundTripper) error {
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
