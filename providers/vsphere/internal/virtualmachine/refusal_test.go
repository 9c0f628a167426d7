// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
)

func TestAlready(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		doing infrav1.TaskOperation
		err   error
		want  bool
	}{
		"powering on what is on":            {infrav1.PowerOnOperation, vcenter.ErrPoweredOn, true},
		"powering off what is off":          {infrav1.PowerOffOperation, vcenter.ErrPoweredOff, true},
		"upgrading what is new enough":      {infrav1.UpgradeHardwareOperation, vcenter.ErrUpgraded, true},
		"destroying what is gone":           {infrav1.DestroyOperation, vcenter.ErrNotFound, true},
		"destroying what is on":             {infrav1.DestroyOperation, vcenter.ErrPoweredOn, false},
		"upgrading what is on":              {infrav1.UpgradeHardwareOperation, vcenter.ErrPoweredOn, false},
		"powering off what is gone":         {infrav1.PowerOffOperation, vcenter.ErrNotFound, false},
		"powering on without the privilege": {infrav1.PowerOnOperation, vcenter.ErrForbidden, false},
		"powering on":                       {infrav1.PowerOnOperation, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.err
			if err != nil {
				err = fmt.Errorf("%w: %w: words", vcenter.ErrTaskFailed, err)
			}
			NewWithT(t).Expect(virtualmachine.Already(tc.doing, err)).To(Equal(tc.want))
		})
	}
}
