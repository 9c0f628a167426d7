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

// zoneClusters are compute clusters whose groups and rules can be written.
type zoneClusters interface {
	// Change writes what f makes of the groups and rules as they are now, while nobody else writes them.
	Change(ctx context.Context, cluster inventory.Ref, f func(inventory.Clustered) *types.ClusterConfigSpecEx) error
	// Gone is nil if vCenter says that it has no such compute cluster.
	Gone(ctx context.Context, cluster inventory.Ref) error
}

// zoneOptions are what Zones are looked up in and made with.
type zoneOptions struct {
	Index    *inventory.Index
	Tags     *tagging
	Clusters zoneClusters
	// Done is told when what was begun for a zone is over.
	Done func()
	// Background runs what is done for a zone, unless the session is over.
	Background func(func(context.Context))
}

// zones are those of a vCenter, and what is being done for them.
type zones struct {
	index    *inventory.Index
	tags     *tagging
	clusters zoneClusters
	jobs     *zoneJobs
}

// newZones does nothing yet.
func newZones(o zoneOptions) *zones {
	return &zones{index: o.Index, tags: o.Tags, clusters: o.Clusters, jobs: newZoneJobs(o.Background, o.Done)}
}

// Configure takes the steps of a plan, in the background. What failed is tried again after the pause at the earliest.
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

// Outcome returns what Configure would, and false if it would begin.
func (z *zones) Outcome(zone string, steps []inventory.ConfigurationStep) (Outcome, bool) {
	z.jobs.mu.Lock()
	defer z.jobs.mu.Unlock()
	return z.jobs.known(zone, digestOf(steps))
}

// digestOf tells steps apart, but not whether they have been tried.
func digestOf(steps []inventory.ConfigurationStep) string {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].First = false
	}
	return fmt.Sprintf("configure %+v", steps)
}

// Release removes what was made, in the order given and in the background. What is gone already is no error.
func (z *zones) Release(zone string, items []inventory.ConfiguredItem, mark string, pause time.Duration) Outcome {
	return z.jobs.do(zone, fmt.Sprintf("release %+v", items), pause, func(ctx context.Context) Outcome {
		outcome := Outcome{Failed: map[inventory.ConfiguredItem]error{}, Kept: map[inventory.ConfiguredItem]string{}, InUse: map[inventory.ConfiguredItem]string{}}
		z.removeGroups(ctx, items, &outcome)
		z.removeTags(ctx, items, mark, &outcome)
		return outcome
	})
}

// lacking names the privilege that an item takes, where vCenter only says that one is missing.
func lacking(item inventory.ConfiguredItem, remove bool, err error) error {
	if err == nil {
		return nil
	}
	verb := "making"
	if remove {
		verb = "removing"
	}
	if forbidden(err) && !strings.Contains(err.Error(), "privilege "+strings.Split(item.Privileges(remove), " ")[0]) {
		return fmt.Errorf("%s %s: privilege %s is needed: %w", verb, item, item.Privileges(remove), err)
	}
	return fmt.Errorf("%s %s: %w", verb, item, err)
}

var errNotTried = errors.New("it is made after that")

// notTried says that an item was not made because what it is made of could not be.
func notTried(item inventory.ConfiguredItem) error {
	return fmt.Errorf("making %s: %w, and takes privilege %s", item, errNotTried, item.Privileges(false))
}
