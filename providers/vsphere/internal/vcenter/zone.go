// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// CheckZone returns all problems of a zone. An error means that the check was not possible. Tags can be up to a minute old;
// everything else is as last reported by the stream.
func (s *Session) CheckZone(ctx context.Context, spec inventory.ZoneSpec) (inventory.ZoneReport, error) {
	return s.zones.Check(ctx, spec)
}

// PlanZone decides what to create for a zone, based on the records of what was created already. The mark is in the description
// of the tags and categories that this management cluster creates. An error means that planning was not possible. For a zone in
// its desired state this costs no calls beyond CheckZone's.
func (s *Session) PlanZone(ctx context.Context, spec inventory.ZoneSpec, records map[inventory.ConfiguredItem]inventory.ConfiguredRecord, mark string) (ZonePlan, error) {
	return s.zones.Plan(ctx, spec, records, mark)
}

// Uses returns the items of a zone, including those created by others, and whether each should be created if it is missing.
func (s *Session) Uses(spec inventory.ZoneSpec) map[inventory.ConfiguredItem]bool {
	return s.zones.Uses(spec)
}

// ConfigureZone executes the steps of a plan in the background. Failed steps are retried no earlier than after the pause. An
// InventoryChanged event follows when it is done.
func (s *Session) ConfigureZone(zone string, steps []inventory.ConfigurationStep, mark string, pause time.Duration) Outcome {
	return s.zones.Configure(zone, steps, mark, pause)
}

// ConfigurationOf returns what ConfigureZone would return, or false if ConfigureZone would start the steps.
func (s *Session) ConfigurationOf(zone string, steps []inventory.ConfigurationStep) (Outcome, bool) {
	return s.zones.Outcome(zone, steps)
}

// IsZoneChanging reports whether steps of an earlier call of ConfigureZone or ReleaseZone are still running. An InventoryChanged event follows
// when they are done.
func (s *Session) IsZoneChanging(zone string) bool { return s.zones.jobs.running(zone) }

// ReleaseZone removes items that were created, in the given order and in the background. It ignores items that no longer exist.
// An InventoryChanged event follows when it is done.
func (s *Session) ReleaseZone(zone string, items []inventory.ConfiguredItem, mark string, pause time.Duration) Outcome {
	return s.zones.Release(zone, items, mark, pause)
}
