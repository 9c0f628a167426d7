// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// guestDelay is the boot time of a simulated guest, long enough to see machines start one after the other.
const guestDelay = time.Second

// simulation is a vCenter with three compute clusters as zones.
type simulation struct {
	vcenter *simulator.Server
}

// Simulate implements provider.DemoProvider.
func (Provider) Simulate(string) (provider.Simulation, error) {
	vcenter, err := simulator.New(simulator.ThreeZones(), simulator.WithGuestDelay(guestDelay))
	if err != nil {
		return nil, fmt.Errorf("starting the vCenter simulator: %w", err)
	}
	return &simulation{vcenter: vcenter}, nil
}

// Setup gives the manager its own account for objects that belong to no cluster, as an installation does, and sets all template variables
// without a default.
func (v *simulation) Setup(dir string) (provider.Setup, error) {
	credentials := filepath.Join(dir, "credentials.yaml")
	content := fmt.Sprintf("username: %q\npassword: %q\n", v.vcenter.Username(), v.vcenter.Password())
	if err := os.WriteFile(credentials, []byte(content), 0o600); err != nil {
		return provider.Setup{}, fmt.Errorf("writing the manager's credentials: %w", err)
	}
	return provider.Setup{
		ManagerArgs:      []string{"--credentials-file=" + credentials},
		ManagerVariables: map[string]string{"VSPHERE_USERNAME": v.vcenter.Username(), "VSPHERE_PASSWORD": v.vcenter.Password()},
		Variables:        simulator.TemplateVariables(datacenterName, v.vcenter),
		Access: []string{
			"export GOVC_URL=" + v.vcenter.Host() + " GOVC_INSECURE=1",
			fmt.Sprintf("export GOVC_USERNAME=%s GOVC_PASSWORD=%s", v.vcenter.Username(), v.vcenter.Password()),
		},
	}, nil
}

// Join does nothing: a vCenter is outside the management cluster.
func (*simulation) Join(context.Context, *managementcluster.Cluster, *workload.Simulator) (func(context.Context) error, error) {
	return nil, nil
}

// Machines lists the virtual machines. In this layout the compute cluster has the name of the zone.
func (v *simulation) Machines(context.Context) ([]provider.Placement, error) {
	vms := v.vcenter.VMs()
	placements := make([]provider.Placement, 0, len(vms))
	for _, vm := range vms {
		placements = append(placements, provider.Placement{Name: vm.Name, Domain: vm.Cluster, Host: vm.Host, Running: vm.Power == "poweredOn"})
	}
	return placements, nil
}

// Break removes the zone's datastore, like a storage outage or an accidental unmount. Running machines continue, but nothing new can be
// placed there.
func (v *simulation) Break(_ context.Context, zone string) (string, error) {
	name := datastore(zone)
	if err := v.vcenter.RemoveDatastore(datacenterName, name); err != nil {
		return "", fmt.Errorf("removing datastore %s: %w", name, err)
	}
	return "removed datastore " + name, nil
}

// ReleaseHost does nothing: virtual machines can be deleted without their datastore.
func (*simulation) ReleaseHost(context.Context, string) ([]string, error) { return nil, nil }

// Repair restores the datastore.
func (v *simulation) Repair(_ context.Context, zone string) (string, error) {
	name := datastore(zone)
	if err := v.vcenter.RestoreDatastore(datacenterName, name); err != nil {
		return "", fmt.Errorf("restoring datastore %s: %w", name, err)
	}
	return "restored datastore " + name, nil
}

// datastore returns the zone's datastore in the layout: datastore-a for zone-a.
func datastore(zone string) string { return "datastore-" + zone[len(zone)-1:] }

// Leftovers counts the virtual machines.
func (v *simulation) Leftovers(context.Context) (string, error) {
	if n := len(v.vcenter.VMs()); n > 0 {
		return fmt.Sprintf("vCenter still has %d machines", n), nil
	}
	return "", nil
}

// Close stops the vCenter.
func (v *simulation) Close() { v.vcenter.Close() }
