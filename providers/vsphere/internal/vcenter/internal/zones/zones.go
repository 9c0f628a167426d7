// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zones looks at what failure domains are made of in vCenter, and makes and removes what is to be made of it.
package zones

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/tagging"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// Clusters are compute clusters whose groups and rules can be written.
type Clusters interface {
	// Change writes what f makes of the groups and rules as they are now, while nobody else writes them.
	Change(ctx context.Context, cluster inventory.Ref, f func(inventory.Clustered) *types.ClusterConfigSpecEx) error
	// Gone is nil if vCenter says that it has no such compute cluster.
	Gone(ctx context.Context, cluster inventory.Ref) error
}

// Options are what Zones are looked up in and made with.
type Options struct {
	Index    *inventory.Index
	Tags     *tagging.Tags
	Clusters Clusters
	// Done is told when what was begun for a zone is over.
	Done func()
	// Background runs what is done for a zone, unless the session is over.
	Background func(func(context.Context))
}

// Zones are those of a vCenter, and what is being done for them.
type Zones struct {
	index    *inventory.Index
	tags     *tagging.Tags
	clusters Clusters
	jobs     *jobs
}

// New does nothing yet.
func New(o Options) *Zones {
	return &Zones{index: o.Index, tags: o.Tags, clusters: o.Clusters, jobs: newJobs(o.Background, o.Done)}
}

// Configure takes the steps of a plan, in the background. What failed is tried again after the pause at the earliest.
func (z *Zones) Configure(zone string, steps []configuration.Step, mark string, pause time.Duration) Outcome {
	return z.jobs.do(zone, digestOf(steps), pause, func(ctx context.Context) Outcome {
		outcome := Outcome{Failed: map[configuration.Item]error{}, NotOurs: map[configuration.Item]bool{}}
		z.changeGroups(ctx, steps, outcome.Failed)
		z.makeTags(ctx, steps, mark, outcome.Failed)
		for _, step := range steps {
			err := outcome.Failed[step.Item]
			if step.First && (errors.Is(err, vcerrors.ErrDuplicateName) || errors.Is(err, errNotTried)) {
				outcome.NotOurs[step.Item] = true
			}
		}
		return outcome
	})
}

// Outcome returns what Configure would, and false if it would begin.
func (z *Zones) Outcome(zone string, steps []configuration.Step) (Outcome, bool) {
	z.jobs.mu.Lock()
	defer z.jobs.mu.Unlock()
	return z.jobs.known(zone, digestOf(steps))
}

// digestOf tells steps apart, but not whether they have been tried.
func digestOf(steps []configuration.Step) string {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].First = false
	}
	return fmt.Sprintf("configure %+v", steps)
}

// Release removes what was made, in the order given and in the background. What is gone already is no error.
func (z *Zones) Release(zone string, items []configuration.Item, mark string, pause time.Duration) Outcome {
	return z.jobs.do(zone, fmt.Sprintf("release %+v", items), pause, func(ctx context.Context) Outcome {
		outcome := Outcome{Failed: map[configuration.Item]error{}, Kept: map[configuration.Item]string{}, InUse: map[configuration.Item]string{}}
		z.removeGroups(ctx, items, &outcome)
		z.removeTags(ctx, items, mark, &outcome)
		return outcome
	})
}

// lacking names the privilege that an item takes, where vCenter only says that one is missing.
func lacking(item configuration.Item, remove bool, err error) error {
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
func notTried(item configuration.Item) error {
	return fmt.Errorf("making %s: %w, and takes privilege %s", item, errNotTried, item.Privileges(false))
}
