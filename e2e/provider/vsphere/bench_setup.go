// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// touched is an annotation that is changed to trigger a reconcile.
const touched = "bench"

// setup is a cluster on one or several vCenters in its own namespace.
type setup struct {
	*benchmark.Fleet[*infrav1.VSphereMachine]

	vcenters []*simulator.Server
	zones    []*infrav1.VSphereDeploymentZone
}

// setUp starts equal vCenters and creates the cluster on them, with zones a, b and c on the vCenters in turn.
func setUp(ctx context.Context, e *benchmark.Environment, name string, vcenters int, layout simulator.Layout) (*setup, error) {
	servers, err := simulator.NewSeveral(vcenters, layout) //nolint:contextcheck // The simulators run until they are closed.
	if err != nil {
		return nil, err
	}
	e.OnStop(func() { simulator.CloseAll(servers) })
	for _, vcenter := range servers {
		e.CountCalls(func() benchmark.Counts { return vcenter.Calls() }, func(call string) bool { return call != stream })
	}
	cluster, err := createCluster(ctx, e.Client, name, servers[0], servers[1:]...)
	if err != nil {
		return nil, err
	}
	w := &setup{vcenters: servers, Fleet: &benchmark.Fleet[*infrav1.VSphereMachine]{
		Client: e.Client, Cluster: cluster, New: newMachine, List: &infrav1.VSphereMachineList{},
		Done: func(m *infrav1.VSphereMachine) bool { return ptr.Deref(m.Status.Initialization.Provisioned, false) },
	}}
	w.Placements = w.placements
	for i, letter := range []string{"a", "b", "c"} {
		if err := w.makeZone(ctx, letter, servers[i%len(servers)]); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// placements returns the virtual machines, except those that do not belong to the benchmark. In this layout the zone with the name
// of the cluster and a letter is the compute cluster with that letter.
func (w *setup) placements(context.Context) ([]provider.Placement, error) {
	var all []provider.Placement
	for _, vcenter := range w.vcenters {
		for _, vm := range vcenter.VMs() {
			if path.Base(vm.Folder) != foreignFolder {
				all = append(all, provider.Placement{Name: vm.Name, Domain: w.Cluster.Name + strings.TrimPrefix(vm.Cluster, "zone")})
			}
		}
	}
	return all, nil
}

func (w *setup) makeZone(ctx context.Context, letter string, vcenter *simulator.Server) error {
	name := w.Cluster.Name + "-" + letter
	domain, zone := newZone(w.Cluster, name, vcenter, infrav1.VSphereFailureDomainSpec{
		Region: infrav1.FailureDomain{Name: simulator.RegionTag, Type: infrav1.DatacenterFailureDomain, TagCategory: simulator.RegionCategory},
		Zone:   infrav1.FailureDomain{Name: "zone-" + letter, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.ZoneCategory},
		Topology: infrav1.Topology{
			Datacenter: datacenterName, ComputeCluster: "zone-" + letter, Datastore: "datastore-" + letter, Networks: []string{"network-" + letter},
		},
	})
	w.zones, w.Domains = append(w.zones, zone), append(w.Domains, name)
	return provider.Create(ctx, w.Client, domain, zone)
}

func (w *setup) zonesReady(ctx context.Context) error { return zonesReady(ctx, w.Client, w.Domains...) }

// zonesReady waits until the manager reports zones as ready.
func zonesReady(ctx context.Context, api client.Client, names ...string) error {
	for _, name := range names {
		zone := &infrav1.VSphereDeploymentZone{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err := provider.Await(ctx, api, zone, "VSphereDeploymentZone "+name+" to be ready", func() bool { return ptr.Deref(zone.Status.Ready, false) })
		if err != nil {
			return err
		}
	}
	return nil
}

// touchZones triggers a reconcile of every zone.
func (w *setup) touchZones(ctx context.Context, round int) error {
	for _, zone := range w.zones {
		before := zone.DeepCopy()
		metav1.SetMetaDataAnnotation(&zone.ObjectMeta, touched, strconv.Itoa(round))
		if err := w.Client.Patch(ctx, zone, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("touching VSphereDeploymentZone %s: %w", zone.Name, err)
		}
	}
	return nil
}
