// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"testing"
	"time"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	zero, hour := int32(0), int32(3600)
	tests := map[string]struct {
		spec        faultlinev1.Distribution
		grace, hold time.Duration
	}{
		"by default":     {grace: 2 * time.Minute, hold: 10 * time.Minute},
		"none at all":    {spec: faultlinev1.Distribution{GracePeriodSeconds: &zero, HoldPeriodSeconds: &zero}},
		"as asked":       {spec: faultlinev1.Distribution{GracePeriodSeconds: &hour, HoldPeriodSeconds: &zero}, grace: time.Hour},
		"one of the two": {spec: faultlinev1.Distribution{HoldPeriodSeconds: &hour}, grace: 2 * time.Minute, hold: time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if grace, hold := test.spec.GracePeriod(), test.spec.HoldPeriod(); grace != test.grace || hold != test.hold {
				t.Errorf("got %s and %s, want %s and %s", grace, hold, test.grace, test.hold)
			}
		})
	}
}

func TestIntent(t *testing.T) {
	t.Parallel()
	spec := faultlinev1.Distribution{FailureDomains: []faultlinev1.FailureDomainIntent{
		{Name: "a", State: faultlinev1.DomainEvicting}, {Name: "b"},
	}}
	for name, want := range map[string]faultlinev1.DomainState{
		"a": faultlinev1.DomainEvicting, "b": faultlinev1.DomainActive, "c": faultlinev1.DomainActive,
	} {
		if got := spec.Intent(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
