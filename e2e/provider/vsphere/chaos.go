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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/faults"
)

const (
	// rackCluster is the compute cluster of simulator.HostGroups, whose racks are three of the zones; the fourth zone is a separate
	// compute cluster.
	rackCluster = "cluster-1"
	ownCluster  = "zone-d"
	poweredOn   = "poweredOn"
)

// target are equal vCenters with zones of two types. The zones are on the vCenters in turn.
type target struct {
	*provider.Disturbance

	client   client.WithWatch
	cluster  *provider.Cluster
	vcenters []*simulator.Server
	zones    []string
	tags     []string // attached to machines; none if there are several vCenters: a tag is of one of them
}

// Modes implements provider.ChaosProvider: the obedient mode, the faults of the simulator whose Chaos is set, and the loss of one of several
// vCenters.
func (Provider) Modes() []provider.Mode {
	modes := provider.FaultModes("vCenter obeys immediately", simulator.Faults(), newTarget)
	return append(modes, provider.Mode{
		Name: "lost-vcenter", Is: "the zones are on three vCenters, and at times one of them resets all connections", NewTarget: newTargetOfSeveral,
	})
}

// newTarget returns one vCenter with a fault.
func newTarget(ctx context.Context, o provider.TargetOptions, fault *faults.Fault[*simulator.Server, simulator.Option, *simulator.Server]) (provider.Target, error) {
	vcenters, err := simulator.NewSeveral(1, chaosLayout(), fault.Options...) //nolint:contextcheck // The simulator runs until it is closed.
	if err != nil {
		return nil, err
	}
	disturbance := provider.DisturbanceBy(context.WithoutCancel(ctx), fault, vcenters[0], func() []*simulator.Server { return vcenters })
	return (&target{Disturbance: disturbance, client: o.Client, vcenters: vcenters}).begin(ctx, o.Cluster)
}

// newTargetOfSeveral returns several vCenters. One at a time is unreachable.
func newTargetOfSeveral(ctx context.Context, o provider.TargetOptions) (provider.Target, error) {
	vcenters, err := simulator.NewSeveral(3, chaosLayout()) //nolint:contextcheck // The simulators run until they are closed.
	if err != nil {
		return nil, err
	}
	byHost := map[string]*simulator.Server{}
	var hosts [][]string
	for _, vcenter := range vcenters {
		byHost[vcenter.Host()] = vcenter
		hosts = append(hosts, []string{vcenter.Host()})
	}
	disturbance := &provider.Disturbance{
		Simultaneous: []int{0, 1, 1},
		Targets:      func() [][]string { return slices.Clone(hosts) },
		Set:          func(on bool, host []string) error { byHost[host[0]].SetDown(on); return nil },
	}
	return (&target{Disturbance: disturbance, client: o.Client, vcenters: vcenters}).begin(ctx, o.Cluster)
}

// begin creates the cluster and begins the disturbance.
func (v *target) begin(ctx context.Context, cluster string) (provider.Target, error) {
	if err := v.createInventory(ctx, cluster); err != nil {
		v.Close()
		return nil, err
	}
	if err := v.Begin(); err != nil {
		v.Close()
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
	if len(v.vcenters) == 1 {
		tag, err := v.vcenters[0].TagID(simulator.RegionCategory + "/" + simulator.RegionTag)
		if err != nil {
			return err
		}
		v.tags = []string{tag}
	}
	if v.cluster, err = createCluster(ctx, v.client, cluster, v.vcenters[0], v.vcenters[1:]...); err != nil {
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
	return zonesReady(ctx, v.client, v.zones...)
}

// ownZone returns a compute cluster with its own datastore and network.
func ownZone() infrav1.VSphereFailureDomainSpec {
	return infrav1.VSphereFailureDomainSpec{
		Region:   infrav1.FailureDomain{Name: "region-d", Type: infrav1.DatacenterFailureDomain, TagCategory: simulator.RegionCategory},
		Zone:     infrav1.FailureDomain{Name: ownCluster, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.ZoneCategory},
		Topology: infrav1.Topology{Datacenter: datacenterName, ComputeCluster: ownCluster, Datastore: "datastore-d", Networks: []string{"network-d"}},
	}
}

// Add implements provider.Target. The cluster has its own zone and account.
func (v *target) Add(ctx context.Context, name string) (provider.SoakCluster, error) {
	c, err := createCluster(ctx, v.client, name, v.vcenters[0])
	if err != nil {
		return provider.SoakCluster{}, err
	}
	domain, zone := newZone(c, name, v.vcenters[0], ownZone())
	if err := provider.Create(ctx, v.client, domain, zone); err != nil {
		return provider.SoakCluster{}, err
	}
	return provider.SoakCluster{Cluster: c, Infrastructure: &infrav1.VSphereCluster{ObjectMeta: c.Meta(name)}, Domain: name}, zonesReady(ctx, v.client, name)
}

// Remove implements provider.Target.
func (v *target) Remove(ctx context.Context, name string) error {
	domain, zone := newZone(v.cluster, name, v.vcenters[0], ownZone())
	return errors.Join(provider.Delete(ctx, v.client, zone), provider.Delete(ctx, v.client, domain))
}

// Open implements provider.Target.
func (v *target) Open() int { return v.vcenters[0].Sessions() }

func (v *target) zone(ctx context.Context, name string, spec infrav1.VSphereFailureDomainSpec) error {
	domain, zone := newZone(v.cluster, name, v.of(len(v.zones)), spec)
	v.zones = append(v.zones, name)
	return provider.Create(ctx, v.client, domain, zone)
}

// of returns the vCenter of a zone, given by its position.
func (v *target) of(zone int) *simulator.Server { return v.vcenters[zone%len(v.vcenters)] }

func (v *target) Cluster() *provider.Cluster { return v.cluster }

func (v *target) Domains() []string { return v.zones }

// Machine returns a machine, on a single vCenter with a tag, which adds a step to its creation.
func (v *target) Machine(meta metav1.ObjectMeta) client.Object {
	machine := newMachine(meta)
	machine.Spec.TagIDs = v.tags
	return machine
}

// Observe reads the vCenters before the objects: an object releases its resources before it is deleted.
func (v *target) Observe(ctx context.Context) (provider.Snapshot, error) {
	vms := v.vms()
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
		provisioned := ptr.Deref(machine.Status.Initialization.Provisioned, false)
		s.Machines[machine.Name] = provider.StateOf(machine, provisioned, machine.Spec.ProviderID, providerIDs[machine.Name])
	}
	return s, nil
}

// located is a VM with its vCenter.
type located struct {
	simulator.VM

	vcenter *simulator.Server
}

// vms returns the VMs of all vCenters.
func (v *target) vms() (all []located) {
	for _, vcenter := range v.vcenters {
		for _, vm := range vcenter.VMs() {
			all = append(all, located{VM: vm, vcenter: vcenter})
		}
	}
	return all
}

// domainOf returns the zone of a VM.
func (v *target) domainOf(vm located) string {
	domain := v.inCluster(vm.VM)
	if zone := slices.Index(v.zones, domain); zone >= 0 && v.of(zone) != vm.vcenter {
		return domain + " of another vCenter"
	}
	return domain
}

// inCluster returns the zone of a VM in its vCenter. In a compute cluster with racks that is the rack of its VM group, which it joins
// before it is powered on.
func (v *target) inCluster(vm simulator.VM) string {
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
	var errs []error
	for _, vcenter := range v.vcenters {
		of, err := leftIn(vcenter)
		faults, errs = append(faults, of...), append(errs, err)
	}
	left, err := provider.Leftovers(ctx, v.client, v.cluster.Name, func(secret *corev1.Secret) bool { return secret.Name == accountSecret },
		&infrav1.VSphereMachineList{}, &infrav1.VSphereVMList{})
	return append(faults, left...), errors.Join(append(errs, err)...)
}

// leftIn reports what is left in a vCenter.
func leftIn(vcenter *simulator.Server) ([]provider.Fault, error) {
	var faults []provider.Fault
	for _, vm := range vcenter.VMs() {
		faults = append(faults, provider.Fault{Object: "VM " + vm.Name, What: "still exists in " + vm.Folder})
	}
	for _, task := range vcenter.RunningTasks() {
		faults = append(faults, provider.Fault{Object: "task " + task, What: "is still running"})
	}
	groups, err := vcenter.GroupMembers(rackCluster)
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if n := len(groups[group]); n > 0 {
			faults = append(faults, provider.Fault{Object: "VM group " + group, What: fmt.Sprintf("still has %d members: %v", n, groups[group])})
		}
	}
	return faults, err
}

func (v *target) Close() {
	v.Wait()
	simulator.CloseAll(v.vcenters)
}
