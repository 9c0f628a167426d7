// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/alone"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// clusterName is of the cluster and of its namespace, in every storm.
	clusterName = "storm"
	datacenter  = "dc-1"
	// rackCluster is the compute cluster of simulator.HostGroups, whose racks are three
	// of the zones; the fourth is a compute cluster of its own.
	rackCluster = "cluster-1"
	ownCluster  = "zone-d"
	poweredOn   = "poweredOn"
)

// vSphere is a vCenter with zones of two sorts.
type vSphere struct {
	client  client.WithWatch
	cluster *alone.Cluster
	vcenter *simulator.Server
	mode    vSphereMode
	zones   []string
	tag     string // that machines get
	hidden  []string
	// pending are disturbances that are still to come.
	pending sync.WaitGroup
}

func vSphereProvider() provider {
	p := provider{alone: alone.VSphere(), layOut: func(ctx context.Context, g ground) (infrastructure, error) {
		i := slices.IndexFunc(vSphereModes(), func(mode vSphereMode) bool { return mode.Name == g.mode })
		return layOutVSphere(ctx, g, vSphereModes()[i])
	}}
	for _, mode := range vSphereModes() {
		p.modes = append(p.modes, mode.Mode)
	}
	return p
}

func layOutVSphere(ctx context.Context, g ground, mode vSphereMode) (infrastructure, error) {
	vcenter, err := simulator.New(vSphereLayout(), mode.options...) //nolint:contextcheck // A vCenter runs until it is closed.
	if err != nil {
		return nil, fmt.Errorf("starting the vCenter simulator: %w", err)
	}
	v := &vSphere{client: g.client, vcenter: vcenter, mode: mode}
	if err := v.layOut(ctx); err != nil {
		vcenter.Close()
		return nil, err
	}
	if mode.begin != nil {
		mode.begin(vcenter)
	}
	return v, nil
}

// vSphereLayout is racks as host groups of one compute cluster, and another compute
// cluster that has its own datastore and network.
func vSphereLayout() simulator.Layout {
	layout := simulator.HostGroups()
	dc := &layout.Datacenters[0]
	dc.Clusters = append(dc.Clusters, simulator.Cluster{Name: ownCluster, Hosts: []string{"host-d-1", "host-d-2"}})
	dc.Datastores = append(dc.Datastores, simulator.Datastore{Name: "datastore-d", Clusters: []string{ownCluster}})
	dc.Networks = append(dc.Networks, simulator.Network{Name: "network-d", Clusters: []string{ownCluster}})
	layout.Tags = append(layout.Tags,
		simulator.Tag{Category: simulator.RegionCategory, Name: "region-d", On: []string{"/" + datacenter}},
		simulator.Tag{Category: simulator.ZoneCategory, Name: ownCluster, On: []string{"/" + datacenter + "/host/" + ownCluster}})
	return layout
}

func (v *vSphere) layOut(ctx context.Context) (err error) {
	if v.tag, err = v.vcenter.TagID(simulator.RegionCategory + "/" + simulator.RegionTag); err != nil { //nolint:contextcheck // It asks nobody outside.
		return err
	}
	if v.cluster, err = alone.CreateVSphereCluster(ctx, v.client, clusterName, v.vcenter); err != nil {
		return err
	}
	for _, letter := range []string{"a", "b", "c"} {
		rack := "rack-" + letter
		if err := v.zone(ctx, rack, infrav1.VSphereFailureDomainSpec{
			Region: infrav1.FailureDomain{Name: simulator.RegionTag, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.RegionCategory},
			Zone:   infrav1.FailureDomain{Name: "zone-" + letter, Type: infrav1.HostGroupFailureDomain, TagCategory: simulator.ZoneCategory},
			Topology: infrav1.Topology{
				Datacenter: datacenter, ComputeCluster: rackCluster, Datastore: simulator.SharedDatastore,
				Hosts: infrav1.FailureDomainHosts{VMGroupName: rack + "-vms", HostGroupName: rack + "-hosts"},
			},
		}); err != nil {
			return err
		}
	}
	if err := v.zone(ctx, ownCluster, infrav1.VSphereFailureDomainSpec{
		Region:   infrav1.FailureDomain{Name: "region-d", Type: infrav1.DatacenterFailureDomain, TagCategory: simulator.RegionCategory},
		Zone:     infrav1.FailureDomain{Name: ownCluster, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.ZoneCategory},
		Topology: infrav1.Topology{Datacenter: datacenter, ComputeCluster: ownCluster, Datastore: "datastore-d", Networks: []string{"network-d"}},
	}); err != nil {
		return err
	}
	return v.zonesReady(ctx)
}

func (v *vSphere) zone(ctx context.Context, name string, spec infrav1.VSphereFailureDomainSpec) error {
	domain, zone := v.cluster.Zone(name, v.vcenter, spec)
	v.zones = append(v.zones, name)
	return alone.Create(ctx, v.client, domain, zone)
}

// zonesReady waits until the manager has found the zones in order.
func (v *vSphere) zonesReady(ctx context.Context) error {
	for _, name := range v.zones {
		zone := &infrav1.VSphereDeploymentZone{}
		err := wait.PollUntilContextCancel(ctx, lookEvery, true, func(ctx context.Context) (bool, error) {
			err := v.client.Get(ctx, client.ObjectKey{Name: name}, zone)
			return err == nil && zone.Status.Ready != nil && *zone.Status.Ready, err
		})
		if err != nil {
			return fmt.Errorf("waiting for VSphereDeploymentZone %s to be ready: %w%s", name, alone.Because(ctx, err), alone.Explain(zone.Status.Conditions))
		}
	}
	return nil
}

func (v *vSphere) Cluster() *alone.Cluster { return v.cluster }

func (v *vSphere) Domains() []string { return v.zones }

// Machine has a tag, which is one more step.
func (v *vSphere) Machine(meta metav1.ObjectMeta) client.Object {
	machine := alone.VSphereMachine(meta)
	machine.Spec.TagIDs = []string{v.tag}
	return machine
}

// Look reads vCenter before the objects: what an object lets go of has gone before it.
func (v *vSphere) Look(ctx context.Context) (sight, error) {
	vms := v.vcenter.VMs()
	owners, machines := &infrav1.VSphereVMList{}, &infrav1.VSphereMachineList{}
	for _, list := range []client.ObjectList{owners, machines} {
		if err := v.client.List(ctx, list, client.InNamespace(v.cluster.Name)); err != nil {
			return sight{}, err
		}
	}
	s := sight{machines: map[string]seen{}}
	byUID := map[string]string{}
	for _, owner := range owners.Items {
		byUID[string(owner.UID)] = owner.Name
	}
	providerIDs := map[string]string{}
	for _, vm := range vms {
		h := holding{name: "VM " + vm.Name, owner: byUID[vm.InstanceUUID], domain: v.domainOf(vm), running: vm.Power == poweredOn}
		if h.owner == "" {
			h.disorder = "no VSphereVM has the UID " + vm.InstanceUUID
			h.owner = vm.Name
		}
		s.holdings = append(s.holdings, h)
		providerIDs[h.owner] = "vsphere://" + vm.UUID
	}
	for i := range machines.Items {
		machine := &machines.Items[i]
		s.machines[machine.Name] = v.see(machine, providerIDs[machine.Name])
	}
	return s, nil
}

func (v *vSphere) see(machine *infrav1.VSphereMachine, providerID string) seen {
	ready := machine.Status.Initialization.Provisioned
	is := seen{ready: ready != nil && *ready, conditions: machine.Status.Conditions}
	if machine.Spec.ProviderID != "" && machine.Spec.ProviderID != providerID && machine.DeletionTimestamp.IsZero() {
		is.faults = append(is.faults, fmt.Sprintf("has provider ID %s, its VM %s", machine.Spec.ProviderID, providerID))
	}
	return is
}

// domainOf is the zone that a VM is in. In a compute cluster with racks that is where
// its group keeps it, which it joins before it runs.
func (v *vSphere) domainOf(vm simulator.VM) string {
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

func (v *vSphere) Disturb(_ context.Context, random *rand.Rand) error {
	if v.mode.disturb == nil {
		return nil
	}
	return v.mode.disturb(v, random)
}

func (v *vSphere) Calm(context.Context) error {
	if v.mode.calm == nil {
		return nil
	}
	return v.mode.calm(v)
}

// Remains looks at everything that belongs to machines.
func (v *vSphere) Remains(ctx context.Context) ([]Fault, error) {
	var faults []Fault
	for _, vm := range v.vcenter.VMs() {
		faults = append(faults, Fault{"VM " + vm.Name, "is left in " + vm.Folder})
	}
	for _, task := range v.vcenter.RunningTasks() {
		faults = append(faults, Fault{"task " + task, "still runs"})
	}
	groups, err := v.vcenter.GroupMembers(rackCluster)
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if n := len(groups[group]); n > 0 {
			faults = append(faults, Fault{"VM group " + group, fmt.Sprintf("still has %d members: %v", n, groups[group])})
		}
	}
	objects, more := leftObjects(ctx, v.client, func(secret *corev1.Secret) bool { return secret.Name == alone.Account },
		&infrav1.VSphereMachineList{}, &infrav1.VSphereVMList{})
	return append(faults, objects...), errors.Join(err, more)
}

func (v *vSphere) Close() {
	v.pending.Wait()
	v.vcenter.Close()
}
