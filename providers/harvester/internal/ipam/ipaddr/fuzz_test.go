// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipaddr

import (
	"testing"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// FuzzMakeRange checks that an accepted range is in its subnet and complete: completing it again changes nothing.
func FuzzMakeRange(f *testing.F) {
	f.Add("192.168.1.0/24", "192.168.1.10", "192.168.1.20", "192.168.1.1")
	f.Add("192.168.1.0/31", "", "", "")
	f.Add("fd00::/64", "fd00::10", "", "")
	f.Add("0.0.0.0/0", "::ffff:10.0.0.1", "10.0.0.9%eth0", "")
	f.Add("::/0", "", "::1", "")
	f.Fuzz(func(t *testing.T, subnet, start, end, gateway string) {
		made, err := MakeRange(lbv1.Range{Subnet: subnet, RangeStart: start, RangeEnd: end, Gateway: gateway})
		if err != nil {
			return
		}
		if made.Last.Less(made.First) || !made.Subnet.Contains(made.First) || !made.Subnet.Contains(made.Last) || made.Size() < 0 {
			t.Fatalf("range %v of size %d", made, made.Size())
		}
		if made.Gateway.IsValid() && !made.Subnet.Contains(made.Gateway) {
			t.Fatalf("the gateway of %v is outside", made)
		}
		full := lbv1.Range{Subnet: made.Subnet.String(), RangeStart: made.First.String(), RangeEnd: made.Last.String()}
		if made.Gateway.IsValid() {
			full.Gateway = made.Gateway.String()
		}
		if again, err := MakeRange(full); err != nil || again != made {
			t.Fatalf("%v became %v: %v", made, again, err)
		}
	})
}
