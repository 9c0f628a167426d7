// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

// FuzzPools converts kube-vip's ConfigMap to pools that are valid and do not overlap, or to complaints.
func FuzzPools(f *testing.F) {
	f.Add("cidr-default", "192.168.1.0/24, 10.0.0.0/8", "range-global", "192.168.1.10-192.168.1.20")
	f.Add("range-a", "fd00::1-fd00::9,1.2.3.4", "cidr-a", "::/0")
	f.Add("range-a", "0.0.0.0-255.255.255.255", "kubevip-services", "{}")
	f.Fuzz(func(t *testing.T, key, value, other, more string) {
		config := &corev1.ConfigMap{Data: map[string]string{key: value, other: more}}
		pools, complaints := Pools(config)
		parts := 0
		for _, text := range config.Data {
			parts += len(strings.Split(text, ","))
		}
		var ranges []ipaddr.Range
		for _, pool := range pools {
			for _, r := range pool.Spec.Ranges {
				made, err := ipaddr.MakeRange(r)
				if err != nil {
					t.Fatalf("pool %s has %v: %v", pool.Name, r, err)
				}
				for _, known := range ranges {
					if known.Overlaps(made) {
						t.Fatalf("%v and %v overlap", known, made)
					}
				}
				ranges = append(ranges, made)
			}
		}
		if len(ranges)+len(complaints) > parts {
			t.Fatalf("%d ranges and %d complaints of %d parts", len(ranges), len(complaints), parts)
		}
		GivenIn(config)
	})
}
