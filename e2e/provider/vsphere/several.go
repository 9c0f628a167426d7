// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// several are equal vCenters. Each has one of the zones.
type several struct {
	zones     []string
	servers   []*simulator.Server
	vcenters  []*simulation // of the servers
	workloads *workload.Simulator
}

// SimulateSeveral implements provider.SeveralInfrastructures.
func (p Provider) SimulateSeveral() (provider.SeveralSimulation, error) {
	s := &several{zones: p.Describe().Domains}
	var err error
	if s.servers, err = simulator.NewSeveral(len(s.zones), simulator.ThreeZones(), simulator.WithGuestDelay(guestDelay)); err != nil {
		return nil, err
	}
	for _, vcenter := range s.servers {
		s.vcenters = append(s.vcenters, &simulation{vcenter: vcenter})
	}
	return s, nil
}

// of returns the vCenter of a zone.
func (s *several) of(zone string) *simulation { return s.vcenters[slices.Index(s.zones, zone)] }

// Server implements provider.SeveralSimulation.
func (s *several) Server(zone string) string { return s.of(zone).vcenter.Host() }

// Setup is that of the first vCenter, with the variables of the others. All have the same account.
func (s *several) Setup(dir string) (provider.Setup, error) {
	setup, err := s.vcenters[0].Setup(dir)
	if err != nil {
		return setup, err
	}
	setup.Variables = simulator.TemplateVariables(datacenterName, s.servers...)
	for i, other := range s.servers[1:] {
		setup.Access = append(setup.Access, "export GOVC_URL="+other.Host()+" # the vCenter of "+s.zones[i+1])
	}
	return setup, nil
}

// Join only stores the simulator of workload clusters: vCenters are outside the management cluster.
func (s *several) Join(_ context.Context, _ *managementcluster.Cluster, workloads *workload.Simulator) (func(context.Context) error, error) {
	s.workloads = workloads
	return nil, nil
}

// Machines lists the virtual machines of all vCenters.
func (s *several) Machines(ctx context.Context) ([]provider.Placement, error) {
	var all []provider.Placement
	for i, vcenter := range s.vcenters {
		of, err := vcenter.Machines(ctx)
		if err != nil {
			return nil, err
		}
		for _, m := range of {
			if m.Domain != s.zones[i] {
				m.Domain += " on the vCenter of " + s.zones[i]
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// Break makes the vCenter of a zone unreachable, and powers off its machines.
func (s *several) Break(ctx context.Context, zone string) (string, error) {
	vcenter := s.of(zone).vcenter
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

// ReleaseHost does nothing: a machine cannot be deleted without its vCenter.
func (*several) ReleaseHost(context.Context, string) ([]string, error) { return nil, nil }

// Repair makes the vCenter reachable, and boots its machines once the manager has powered them on.
func (s *several) Repair(ctx context.Context, zone string) (string, error) {
	vcenter := s.of(zone).vcenter
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

// Leftovers reports the first vCenter with machines.
func (s *several) Leftovers(ctx context.Context) (string, error) {
	for i, vcenter := range s.vcenters {
		if left, err := vcenter.Leftovers(ctx); left != "" || err != nil {
			return left + " in " + s.zones[i], err
		}
	}
	return "", nil
}

// Close stops the vCenters.
func (s *several) Close() { simulator.CloseAll(s.servers) }
