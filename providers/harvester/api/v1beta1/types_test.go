// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"
	"testing"
)

func TestAnUnspecifiedAddressIsNoEndpoint(t *testing.T) {
	for endpoint, want := range map[APIEndpoint]bool{
		{}:                              false,
		{Port: 6443}:                    false,
		{Host: "0.0.0.0", Port: 6443}:   false,
		{Host: "::"}:                    false,
		{Host: "10.0.0.1"}:              true,
		{Host: "api.example.com"}:       true,
		{Host: "2001:db8::1", Port: 80}: true,
	} {
		if got := endpoint.IsSet(); got != want {
			t.Errorf("%+v is set: %t, want %t", endpoint, got, want)
		}
	}
	if got, want := (APIEndpoint{Host: "2001:db8::1", Port: 6443}).String(), "[2001:db8::1]:6443"; got != want {
		t.Errorf("the endpoint is written as %s, want %s", got, want)
	}
}

func TestFailureDomainDefaultsToZoneOfItsName(t *testing.T) {
	no := false
	for _, tc := range []struct {
		domain       HarvesterFailureDomain
		key, value   string
		controlPlane bool
	}{
		{HarvesterFailureDomain{Name: "a"}, "topology.kubernetes.io/zone", "a", true},
		{HarvesterFailureDomain{Name: "a", TopologyKey: "example.com/rack", TopologyValue: "17", ControlPlane: &no}, "example.com/rack", "17", false},
	} {
		if key, value := tc.domain.Topology(); key != tc.key || value != tc.value {
			t.Errorf("the domain is where %s is %s, want %s and %s", key, value, tc.key, tc.value)
		}
		if got := tc.domain.ForControlPlane(); got != tc.controlPlane {
			t.Errorf("the domain is for control planes: %t, want %t", got, tc.controlPlane)
		}
	}
	for key, spec := range map[string]HarvesterClusterSpec{
		"topology.kubernetes.io/zone": {},
		"example.com/rack":            {FailureDomainTopologyKey: "example.com/rack"},
	} {
		if got := spec.DiscoveryKey(); got != key {
			t.Errorf("domains are discovered by %s, want %s", got, key)
		}
	}
}

func TestAListOfPoolsGoesBeforeASinglePool(t *testing.T) {
	for _, tc := range []struct {
		config VMNetworkConfig
		want   []string
	}{
		{VMNetworkConfig{}, nil},
		{VMNetworkConfig{IPPoolRef: "a"}, []string{"a"}},
		{VMNetworkConfig{IPPoolRef: "a", IPPoolRefs: []string{"b", "c"}}, []string{"b", "c"}},
	} {
		if got := tc.config.PoolRefs(); !slices.Equal(got, tc.want) {
			t.Errorf("the pools are %v, want %v", got, tc.want)
		}
	}
}
