// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// several is a simulation with one vCenter for each zone.
type several struct{ *simulation }

// SimulateSeveral implements provider.SeveralInfrastructures.
func (p Provider) SimulateSeveral() (provider.SeveralSimulation, error) {
	zones := p.Describe().Domains
	vcenters, err := simulator.NewSeveral(len(zones), simulator.ThreeZones(), simulator.WithGuestDelay(guestDelay))
	if err != nil {
		return nil, err
	}
	return &several{&simulation{vcenters: vcenters, zones: zones}}, nil
}

// of returns the vCenter of a zone.
func (s *several) of(zone string) *simulator.Server { return s.vcenters[slices.Index(s.zones, zone)] }

// Server implements provider.SeveralSimulation.
func (s *several) Server(zone string) string { return s.of(zone).Host() }

// Break makes the vCenter of a zone unreachable, and powers off its machines.
func (s *several) Break(ctx context.Context, zone string) (string, error) {
	vcenter := s.of(zone)
	vcenter.SetDown(true)
	for _, vm := range vcenter.VMs() {
		if err := vcenter.PowerOffVM(vm.Name); err != nil { //nolint:contextcheck // The simulator needs none.
			return "", err
		}
		if err := s.workloads.SetNodeReady(ctx, client.ObjectKey{Namespace: provider.DemoNamespace, Name: vm.Name}, false); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("vCenter %s and its %d machines lost power", vcenter.Host(), len(vcenter.VMs())), nil
}

// Repair makes the vCenter reachable, and boots its machines once the manager has powered them on.
func (s *several) Repair(ctx context.Context, zone string) (string, error) {
	vcenter := s.of(zone)
	vcenter.SetDown(false)
	err := provider.Until(ctx, func(ctx context.Context) (string, error) {
		for _, vm := range vcenter.VMs() {
			if vm.Power != poweredOn {
				return fmt.Sprintf("machine %s is %s", vm.Name, vm.Power), nil
			}
			if err := s.workloads.SetNodeReady(ctx, client.ObjectKey{Namespace: provider.DemoNamespace, Name: vm.Name}, true); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	return fmt.Sprintf("vCenter %s is back, and its machines are powered on", vcenter.Host()), err
}
