// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// CheckZone returns everything that is wrong with a zone, at once. An error means that it cannot be said. Tags may be as
// old as a minute; all else is as the stream reported it.
func (s *Session) CheckZone(ctx context.Context, spec inventory.ZoneSpec) (inventory.ZoneReport, error) {
	return s.zones.Check(ctx, spec)
}

// PlanZone decides what is to be made for a zone, by the records of what was made already. The mark is in the description of
// tags and categories that this management cluster makes. An error means that it cannot be said. In a zone that is as it is to
// be this costs no call beyond CheckZone's.
func (s *Session) PlanZone(ctx context.Context, spec inventory.ZoneSpec, records map[inventory.ConfiguredItem]inventory.ConfiguredRecord, mark string) (ZonePlan, error) {
	return s.zones.Plan(ctx, spec, records, mark)
}

// Uses returns what a zone is made of, whoever has made it, and whether it is to be made where it is missing.
func (s *Session) Uses(spec inventory.ZoneSpec) map[inventory.ConfiguredItem]bool {
	return s.zones.Uses(spec)
}

// ConfigureZone takes the steps of a plan, in the background. What failed is tried again after the pause at the earliest. An
// InventoryChanged event follows when it is over.
func (s *Session) ConfigureZone(zone string, steps []inventory.ConfigurationStep, mark string, pause time.Duration) Outcome {
	return s.zones.Configure(zone, steps, mark, pause)
}

// ConfigurationOf returns what ConfigureZone would, and false if it would begin.
func (s *Session) ConfigurationOf(zone string, steps []inventory.ConfigurationStep) (Outcome, bool) {
	return s.zones.Outcome(zone, steps)
}

// ReleaseZone removes what was made, in the order given and in the background. What is gone already is no error. An
// InventoryChanged event follows when it is over.
func (s *Session) ReleaseZone(zone string, items []inventory.ConfiguredItem, mark string, pause time.Duration) Outcome {
	return s.zones.Release(zone, items, mark, pause)
}
