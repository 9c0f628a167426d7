// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// State is all that a change of managers must leave as it was.
type State struct {
	// VMs are those of vCenter, by name.
	VMs map[string]vm
	// Specs are those of VSphereVMs in v1beta1, by name.
	Specs map[string]any
	// Machines are what Cluster API knows of its Machines, by name.
	Machines map[string]machine
	// Claims are IPAddressClaims with what they were given, by name.
	Claims map[string]claim
}

// Differences says in words what is not the same.
func (s State) Differences(now State) []string {
	return slices.Concat(
		compare("virtual machine", s.VMs, now.VMs), compare("VSphereVM", s.Specs, now.Specs), compare("Machine", s.Machines, now.Machines),
		compare("IPAddressClaim", s.Claims, now.Claims),
	)
}

func compare[T any](kind string, before, after map[string]T) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, ok := after[name]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s %s is gone", kind, name))
		case !reflect.DeepEqual(before[name], now):
			out = append(out, fmt.Sprintf("%s %s was %+v, is %+v", kind, name, before[name], now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			out = append(out, fmt.Sprintf("%s %s is new", kind, name))
		}
	}
	return out
}

// State is that of today.
func (c Cluster) State(ctx context.Context) (s State, err error) {
	if s.VMs, err = c.VCenter.machines(ctx); err != nil {
		return s, err
	}
	s.Specs = map[string]any{}
	vms, err := c.list(ctx, "v1beta1", "VSphereVM")
	if err != nil {
		return s, err
	}
	for i := range vms {
		s.Specs[vms[i].GetName()] = vms[i].Object["spec"]
	}
	if s.Machines, err = c.machines(ctx); err != nil {
		return s, err
	}
	s.Claims, err = c.claims(ctx)
	return s, err
}
