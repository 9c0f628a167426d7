// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// zoneClusters writes the groups and rules of compute clusters.
type zoneClusters interface {
	// Change applies the change that f computes from the current groups and rules, with no other writer meanwhile.
	Change(ctx context.Context, cluster inventory.Ref, f func(inventory.Clustered) *types.ClusterConfigSpecEx) error
	// ConfirmDeleted returns nil if vCenter confirms that the compute cluster does not exist.
	ConfirmDeleted(ctx context.Context, cluster inventory.Ref) error
}

// zoneOptions configures zones.
type zoneOptions struct {
	Index    *inventory.Index
	Tags     *tagging
	Clusters zoneClusters
	// Done is called when work for a zone has finished.
	Done func()
	// Background runs the work for a zone, unless the session has ended.
	Background func(func(context.Context))
}

// zones checks, plans, configures and releases the zones of a vCenter.
type zones struct {
	index    *inventory.Index
	tags     *tagging
	clusters zoneClusters
	jobs     *zoneJobs
}

// newZones returns zones without any work in progress.
func newZones(o zoneOptions) *zones {
	return &zones{index: o.Index, tags: o.Tags, clusters: o.Clusters, jobs: newZoneJobs(o.Background, o.Done)}
}

// Configure executes the steps of a plan in the background. Failed steps are retried no earlier than after the pause.
func (z *zones) Configure(zone string, steps []inventory.ConfigurationStep, mark string, pause time.Duration) Outcome {
	return z.jobs.do(zone, digestOf(steps), pause, func(ctx context.Context) Outcome {
		outcome := Outcome{Failed: map[inventory.ConfiguredItem]error{}, NotOurs: map[inventory.ConfiguredItem]bool{}}
		z.changeGroups(ctx, steps, outcome.Failed)
		z.makeTags(ctx, steps, mark, outcome.Failed)
		for _, step := range steps {
			err := outcome.Failed[step.ConfiguredItem]
			if step.First && (errors.Is(err, vcerrors.ErrDuplicateName) || errors.Is(err, errNotTried)) {
				outcome.NotOurs[step.ConfiguredItem] = true
			}
		}
		return outcome
	})
}

// Outcome returns what Configure would return, or false if Configure would start the steps.
func (z *zones) Outcome(zone string, steps []inventory.ConfigurationStep) (Outcome, bool) {
	z.jobs.mu.Lock()
	defer z.jobs.mu.Unlock()
	return z.jobs.known(zone, digestOf(steps))
}

// digestOf identifies steps regardless of whether they were tried before.
func digestOf(steps []inventory.ConfigurationStep) string {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].First = false
	}
	return fmt.Sprintf("configure %+v", steps)
}

// Release removes items that were created, in the given order and in the background. It ignores items that no longer exist.
func (z *zones) Release(zone string, items []inventory.ConfiguredItem, mark string, pause time.Duration) Outcome {
	return z.jobs.do(zone, fmt.Sprintf("release %+v", items), pause, func(ctx context.Context) Outcome {
		outcome := Outcome{Failed: map[inventory.ConfiguredItem]error{}, Kept: map[inventory.ConfiguredItem]string{}, InUse: map[inventory.ConfiguredItem]string{}}
		z.removeGroups(ctx, items, &outcome)
		z.removeTags(ctx, items, mark, &outcome)
		return outcome
	})
}

// lacking adds the privilege that an item needs to an error in which vCenter reports only that one is missing.
func lacking(item inventory.ConfiguredItem, remove bool, err error) error {
	if err == nil {
		return nil
	}
	verb := "creating"
	if remove {
		verb = "removing"
	}
	if forbidden(err) && !strings.Contains(err.Error(), "privilege "+strings.Split(item.Privileges(remove), " ")[0]) {
		return fmt.Errorf("%s %s: privilege %s is required: %w", verb, item, item.Privileges(remove), err)
	}
	return fmt.Errorf("%s %s: %w", verb, item, err)
}

var errNotTried = errors.New("it is created after that")

// notTried returns the error of an item that was not created because its prerequisites could not be created.
func notTried(item inventory.ConfiguredItem) error {
	return fmt.Errorf("creating %s: %w, which requires privilege %s", item, errNotTried, item.Privileges(false))
}
