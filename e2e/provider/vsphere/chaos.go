// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// rackCluster is the compute cluster of simulator.HostGroups, whose racks are three of the zones; the fourth zone is a separate
	// compute cluster.
	rackCluster = "cluster-1"
	ownCluster  = "zone-d"
	poweredOn   = "poweredOn"
)

// target is a vCenter with zones of two types.
type target struct {
	client  client.WithWatch
	cluster *provider.Cluster
	vcenter *simulator.Server
	zones   []string
	tag     string // attached to machines
	// disturbance injects the mode's fault into vCenter.
	disturbance *provider.Disturbance
}

// Modes implements provider.ChaosProvider.
func (Provider) Modes() []provider.Mode { return provider.ModesOf(chaosModes()) }

// NewTarget implements provider.ChaosProvider.
func (Provider) NewTarget(ctx context.Context, o provider.TargetOptions) (provider.Target, error) {
	m := provider.BehaviorOf(chaosModes(), o.Mode)
	vcenter, err := simulator.New(chaosLayout(), m.Fault.Options...) //nolint:contextcheck // The simulator runs until it is closed.
	if err != nil {
		return nil, fmt.Errorf("starting the vCenter simulator: %w", err)
	}
	there := func() []*simulator.Server { return []*simulator.Server{vcenter} }
	disturbance := provider.DisturbanceBy(context.WithoutCancel(ctx), &m.Fault, vcenter, there)
	v := &target{client: o.Client, vcenter: vcenter, disturbance: disturbance}
	if err := v.createInventory(ctx, o.Cluster); err != nil {
		vcenter.Close()
		return nil, err
	}
	if err := v.disturbance.Begin(); err != nil {
		vcenter.Close()
		return nil, err
	}
	return v, nil
}

// chaosLayout returns a layout with racks as host groups of one compute cluster, and another compute cluster with its own datastore and
// network.
func chaosLayout() simulator.Layout {
	layout := simulator.HostGroups()
	dc := &layout.Datacenters[0]
	dc.Clusters = append(dc.Clusters, simulator.Cluster{Name: ownCluster, Hosts: []string{"host-d-1", "host-d-2"}})
	dc.Datastores = append(dc.Datastores, simulator.Datastore{Name: "datastore-d", Clusters: []string{ownCluster}})
	dc.Networks = append(dc.Networks, simulator.Network{Name: "network-d", Clusters: []string{ownCluster}})
	layout.Tags = append(layout.Tags,
		simulator.Tag{Category: simulator.RegionCategory, Name: "region-d", On: []string{"/" + datacenterName}},
		simulator.Tag{Category: simulator.ZoneCategory, Name: ownCluster, On: []string{"/" + datacenterName + "/host/" + ownCluster}})
	return layout
}

func (v *target) createInventory(ctx context.Context, cluster string) (err error) {
	if v.tag, err = v.vcenter.TagID(simulator.RegionCategory + "/" + simulator.RegionTag); err != nil {
		return err
	}
	if v.cluster, err = createCluster(ctx, v.client, cluster, v.vcenter); err != nil {
		return err
	}
	for _, letter := range []string{"a", "b", "c"} {
		rack := "rack-" + letter
		if err := v.zone(ctx, rack, infrav1.VSphereFailureDomainSpec{
			Region: infrav1.FailureDomain{Name: simulator.RegionTag, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.RegionCategory},
			Zone:   infrav1.FailureDomain{Name: "zone-" + letter, Type: infrav1.HostGroupFailureDomain, TagCategory: simulator.ZoneCategory},
			Topology: infrav1.Topology{
				Datacenter: datacenterName, ComputeCluster: rackCluster, Datastore: simulator.SharedDatastore,
				Hosts: infrav1.FailureDomainHosts{VMGroupName: rack + "-vms", HostGroupName: rack + "-hosts"},
			},
		}); err != nil {
			return err
		}
	}
	if err := v.zone(ctx, ownCluster, ownZone()); err != nil {
		return err
	}
	return v.zonesReady(ctx, v.zones...)
}

// ownZone returns a compute cluster with its own datastore and network.
func ownZone() infrav1.VSphereFailureDomainSpec {
	return infrav1.VSphereFailureDomainSpec{
		Region:   infrav1.FailureDomain{Name: "region-d", Type: infrav1.DatacenterFailureDomain, TagCategory: simulator.RegionCategory},
		Zone:     infrav1.FailureDomain{Name: ownCluster, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.ZoneCategory},
		Topology: infrav1.Topology{Datacenter: datacenterName, ComputeCluster: ownCluster, Datastore: "datastore-d", Networks: []string{"network-d"}},
	}
}

// Add implements provider.SoakTarget. The cluster has its own zone and account.
func (v *target) Add(ctx context.Context, name string) (provider.SoakCluster, error) {
	c, err := createCluster(ctx, v.client, name, v.vcenter)
	if err != nil {
		return provider.SoakCluster{}, err
	}
	domain, zone := newZone(c, name, v.vcenter, ownZone())
	if err := provider.Create(ctx, v.client, domain, zone); err != nil {
		return provider.SoakCluster{}, err
	}
	return provider.SoakCluster{Cluster: c, Infrastructure: &infrav1.VSphereCluster{ObjectMeta: c.Meta(name)}, Domain: name}, v.zonesReady(ctx, name)
}

// Remove implements provider.SoakTarget.
func (v *target) Remove(ctx context.Context, name string) error {
	domain, zone := newZone(v.cluster, name, v.vcenter, ownZone())
	return errors.Join(provider.Delete(ctx, v.client, zone), provider.Delete(ctx, v.client, domain))
}

// Open implements provider.SoakTarget.
func (v *target) Open() int { return v.vcenter.Sessions() }

func (v *target) zone(ctx context.Context, name string, spec infrav1.VSphereFailureDomainSpec) error {
	domain, zone := newZone(v.cluster, name, v.vcenter, spec)
	v.zones = append(v.zones, name)
	return provider.Create(ctx, v.client, domain, zone)
}

// zonesReady waits until the manager reports the zones as ready.
func (v *target) zonesReady(ctx context.Context, names ...string) error {
	for _, name := range names {
		zone := &infrav1.VSphereDeploymentZone{}
		err := wait.PollUntilContextCancel(ctx, provider.PollInterval, true, func(ctx context.Context) (bool, error) {
			err := v.client.Get(ctx, client.ObjectKey{Name: name}, zone)
			return err == nil && zone.Status.Ready != nil && *zone.Status.Ready, err
		})
		if err != nil {
			return fmt.Errorf("waiting for VSphereDeploymentZone %s to be ready: %w%s", name, provider.Because(ctx, err), provider.Explain(zone.Status.Conditions))
		}
	}
	return nil
}

func (v *target) Cluster() *provider.Cluster { return v.cluster }

func (v *target) Domains() []string { return v.zones }

// Machine returns a machine with a tag, which adds a step to its creation.
func (v *target) Machine(meta metav1.ObjectMeta) client.Object {
	machine := newMachine(meta)
	machine.Spec.TagIDs = []string{v.tag}
	return machine
}

// Observe reads vCenter before the objects: an object releases its resources before it is deleted.
func (v *target) Observe(ctx context.Context) (provider.Snapshot, error) {
	vms := v.vcenter.VMs()
	owners, machines := &infrav1.VSphereVMList{}, &infrav1.VSphereMachineList{}
	for _, list := range []client.ObjectList{owners, machines} {
		if err := v.client.List(ctx, list, client.InNamespace(v.cluster.Name)); err != nil {
			return provider.Snapshot{}, err
		}
	}
	s := provider.Snapshot{Machines: map[string]provider.MachineState{}}
	byUID := map[string]string{}
	for _, owner := range owners.Items {
		byUID[string(owner.UID)] = owner.Name
	}
	providerIDs := map[string]string{}
	for _, vm := range vms {
		h := provider.Resource{Name: "VM " + vm.Name, Owner: byUID[vm.InstanceUUID], Domain: v.domainOf(vm), Running: vm.Power == poweredOn}
		if h.Owner == "" {
			h.Inconsistency = "no VSphereVM has the UID " + vm.InstanceUUID
			h.Owner = vm.Name
		}
		s.Resources = append(s.Resources, h)
		providerIDs[h.Owner] = "vsphere://" + vm.UUID
	}
	for i := range machines.Items {
		machine := &machines.Items[i]
		s.Machines[machine.Name] = v.see(machine, providerIDs[machine.Name])
	}
	return s, nil
}

func (v *target) see(machine *infrav1.VSphereMachine, providerID string) provider.MachineState {
	ready := machine.Status.Initialization.Provisioned
	is := provider.MachineState{Ready: ready != nil && *ready, Conditions: machine.Status.Conditions}
	if machine.Spec.ProviderID != "" && machine.Spec.ProviderID != providerID && machine.DeletionTimestamp.IsZero() {
		is.Faults = append(is.Faults, fmt.Sprintf("has provider ID %s, but its VM %s", machine.Spec.ProviderID, providerID))
	}
	return is
}

// domainOf returns the zone of a VM. In a compute cluster with racks that is the rack of its VM group, which it joins before it is
// powered on.
func (v *target) domainOf(vm simulator.VM) string {
	if vm.Cluster != rackCluster {
		return vm.Cluster
	}
	var of []string
	for _, zone := range v.zones {
		if slices.Contains(vm.Groups, zone+"-vms") {
			of = append(of, zone)
		}
	}
	rack, _, _ := strings.Cut(strings.TrimPrefix(vm.Host, "host-"), "-")
	if vm.Power == poweredOn && !slices.Equal(of, []string{"rack-" + rack}) {
		return fmt.Sprintf("rack-%s by its host and %v by its groups", rack, of)
	}
	return strings.Join(of, " and ")
}

// Leftovers reports all remaining objects of machines.
func (v *target) Leftovers(ctx context.Context) ([]provider.Fault, error) {
	var faults []provider.Fault
	for _, vm := range v.vcenter.VMs() {
		faults = append(faults, provider.Fault{Object: "VM " + vm.Name, What: "still exists in " + vm.Folder})
	}
	for _, task := range v.vcenter.RunningTasks() {
		faults = append(faults, provider.Fault{Object: "task " + task, What: "is still running"})
	}
	groups, err := v.vcenter.GroupMembers(rackCluster)
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if n := len(groups[group]); n > 0 {
			faults = append(faults, provider.Fault{Object: "VM group " + group, What: fmt.Sprintf("still has %d members: %v", n, groups[group])})
		}
	}
	left, more := provider.Leftovers(ctx, v.client, v.cluster.Name, func(secret *corev1.Secret) bool { return secret.Name == accountSecret },
		&infrav1.VSphereMachineList{}, &infrav1.VSphereVMList{})
	return append(faults, left...), errors.Join(err, more)
}

func (v *target) Close() {
	v.disturbance.Wait()
	v.vcenter.Close()
}
