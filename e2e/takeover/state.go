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

// State holds everything that a change of managers must not change.
type State struct {
	// VMs are the virtual machines in vCenter by name.
	VMs map[string]vm
	// Specs are the specs of VSphereVMs in v1beta1 by name.
	Specs map[string]any
	// Machines are the Machines by name.
	Machines map[string]machine
	// Claims are the IPAddressClaims with their addresses by name.
	Claims map[string]claim
}

// Differences describes what has changed.
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

// State returns the current state.
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
