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

// simulation is one or several equal vCenters with three compute clusters as zones. Each of several has one of the zones.
type simulation struct {
	vcenters  []*simulator.Server
	zones     []string // of several vCenters
	workloads *workload.Simulator
}

// Simulate implements provider.DemoProvider.
func (Provider) Simulate(string) (provider.Simulation, error) {
	vcenters, err := simulator.NewSeveral(1, simulator.ThreeZones(), simulator.WithGuestDelay(guestDelay))
	if err != nil {
		return nil, err
	}
	return &simulation{vcenters: vcenters}, nil
}

// Setup gives the manager its own account for objects that belong to no cluster, as an installation does, and sets all template variables
// without a default. All vCenters have the same account.
func (v *simulation) Setup(dir string) (provider.Setup, error) {
	vcenter := v.vcenters[0]
	credentials := filepath.Join(dir, "credentials.yaml")
	content := fmt.Sprintf("username: %q\npassword: %q\n", vcenter.Username(), vcenter.Password())
	if err := os.WriteFile(credentials, []byte(content), 0o600); err != nil {
		return provider.Setup{}, fmt.Errorf("writing the manager's credentials: %w", err)
	}
	access := []string{
		"export GOVC_URL=" + vcenter.Host() + " GOVC_INSECURE=1",
		fmt.Sprintf("export GOVC_USERNAME=%s GOVC_PASSWORD=%s", vcenter.Username(), vcenter.Password()),
	}
	for i, other := range v.vcenters[1:] {
		access = append(access, "export GOVC_URL="+other.Host()+" # the vCenter of "+v.zones[i+1])
	}
	return provider.Setup{
		ManagerArgs:      []string{"--credentials-file=" + credentials},
		ManagerVariables: map[string]string{"VSPHERE_USERNAME": vcenter.Username(), "VSPHERE_PASSWORD": vcenter.Password()},
		Variables:        simulator.TemplateVariables(datacenterName, v.vcenters...),
		Access:           access,
	}, nil
}

// Join only stores the simulator of workload clusters: a vCenter is outside the management cluster.
func (v *simulation) Join(_ context.Context, _ *managementcluster.Cluster, workloads *workload.Simulator) (func(context.Context) error, error) {
	v.workloads = workloads
	return nil, nil
}

// Machines lists the virtual machines. In this layout the compute cluster has the name of the zone.
func (v *simulation) Machines(context.Context) ([]provider.Placement, error) {
	var placements []provider.Placement
	for i, vcenter := range v.vcenters {
		for _, vm := range vcenter.VMs() {
			p := provider.Placement{Name: vm.Name, Domain: vm.Cluster, Host: vm.Host, Running: vm.Power == poweredOn}
			if len(v.vcenters) > 1 && p.Domain != v.zones[i] {
				p.Domain += " on the vCenter of " + v.zones[i]
			}
			placements = append(placements, p)
		}
	}
	return placements, nil
}

// Break removes the zone's datastore, like a storage outage or an accidental unmount. Running machines continue, but nothing new can be
// placed there.
func (v *simulation) Break(_ context.Context, zone string) (string, error) {
	name := datastore(zone)
	if err := v.vcenters[0].RemoveDatastore(datacenterName, name); err != nil {
		return "", fmt.Errorf("removing datastore %s: %w", name, err)
	}
	return "removed datastore " + name, nil
}

// ReleaseHost does nothing: virtual machines can be deleted without their datastore, but not without their vCenter.
func (*simulation) ReleaseHost(context.Context, string) ([]string, error) { return nil, nil }

// Repair restores the datastore.
func (v *simulation) Repair(_ context.Context, zone string) (string, error) {
	name := datastore(zone)
	if err := v.vcenters[0].RestoreDatastore(datacenterName, name); err != nil {
		return "", fmt.Errorf("restoring datastore %s: %w", name, err)
	}
	return "restored datastore " + name, nil
}

// datastore returns the zone's datastore in the layout: datastore-a for zone-a.
func datastore(zone string) string { return "datastore-" + zone[len(zone)-1:] }

// Leftovers counts the virtual machines.
func (v *simulation) Leftovers(context.Context) (string, error) {
	for _, vcenter := range v.vcenters {
		if n := len(vcenter.VMs()); n > 0 {
			return fmt.Sprintf("vCenter %s still has %d machines", vcenter.Host(), n), nil
		}
	}
	return "", nil
}

// Close stops the vCenters.
func (v *simulation) Close() { simulator.CloseAll(v.vcenters) }
