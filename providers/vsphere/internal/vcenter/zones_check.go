// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"slices"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Check returns all problems of a zone. An error means that the check was not possible. Tags can be up to a minute old;
// everything else is as last reported by the stream.
func (z *zones) Check(ctx context.Context, spec inventory.ZoneSpec) (inventory.ZoneReport, error) {
	c := inventory.Inspect(z.index, spec)
	if err := z.checkTags(ctx, c); err != nil {
		return inventory.ZoneReport{}, err
	}
	return c.Report(), nil
}

// checkTags reads the tags that objects must carry from vCenter.
func (z *zones) checkTags(ctx context.Context, c *inventory.Inspection) error {
	var objects []inventory.Ref
	var wanted []inventory.TagName
	for _, check := range inventory.ZoneChecks() {
		if carriers := c.Carriers[check.Reason]; len(carriers) > 0 {
			objects, wanted = append(objects, carriers...), append(wanted, check.Wanted(c.Spec))
		}
	}
	if len(objects) == 0 {
		return nil
	}
	attached, err := z.tags.Of(ctx, objects, wanted)
	if err != nil {
		return err
	}
	for _, check := range inventory.ZoneChecks() {
		without := slices.DeleteFunc(slices.Clone(c.Carriers[check.Reason]), func(object inventory.Ref) bool {
			return attached.Has(object, check.Wanted(c.Spec))
		})
		if len(without) > 0 {
			c.Found[check.Reason] = []string{inventory.Untagged(z.index, check.Wanted(c.Spec), without, z.tags.Named(ctx, attached.On(without)))}
		}
	}
	return nil
}
