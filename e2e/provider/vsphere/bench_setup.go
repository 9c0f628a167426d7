// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"strconv"

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

	name     string            // of the namespace and of the cluster
	vcenter  *simulator.Server // the first
	vcenters []*simulator.Server
	zones    []*infrav1.VSphereDeploymentZone
}

// setUp starts a vCenter with zones a, b and c and creates the cluster on it.
func setUp(ctx context.Context, e *benchmark.Environment, name string, layout simulator.Layout) (*setup, error) {
	vcenters, err := startVCenters(e, 1, layout) //nolint:contextcheck // The simulator runs until it is closed.
	if err != nil {
		return nil, err
	}
	return setUpOver(ctx, e, name, vcenters)
}

// startVCenters starts some equal vCenters.
func startVCenters(e *benchmark.Environment, count int, layout simulator.Layout) ([]*simulator.Server, error) {
	vcenters, err := simulator.NewSeveral(count, layout)
	if err == nil {
		e.OnStop(func() { simulator.CloseAll(vcenters) })
	}
	return vcenters, err
}

// setUpOver creates the cluster with zones a, b and c on the vCenters in turn.
func setUpOver(ctx context.Context, e *benchmark.Environment, name string, vcenters []*simulator.Server) (*setup, error) {
	foreign := 0
	for _, vcenter := range vcenters {
		foreign += len(vcenter.VMs())
	}
	cluster, err := createCluster(ctx, e.Client, name, vcenters[0], vcenters[1:]...)
	if err != nil {
		return nil, err
	}
	w := &setup{name: name, vcenter: vcenters[0], vcenters: vcenters, Fleet: &benchmark.Fleet[*infrav1.VSphereMachine]{
		Client: e.Client, Cluster: cluster, New: newMachine, List: &infrav1.VSphereMachineList{},
		Done: func(m *infrav1.VSphereMachine) bool { return ptr.Deref(m.Status.Initialization.Provisioned, false) },
		Check: func(_ context.Context, domains map[string]string) error {
			count := -foreign
			for _, vcenter := range vcenters {
				count += len(vcenter.VMs())
			}
			if count != len(domains) {
				return fmt.Errorf("counting VMs: vCenter has %d VMs for %d machines", count, len(domains))
			}
			return nil
		},
	}}
	for i, letter := range []string{"a", "b", "c"} {
		if err := w.makeZone(ctx, letter, vcenters[i%len(vcenters)]); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Calls implements benchmark.Counted.
func (w *setup) Calls() benchmark.Counts { return simulator.CallsOf(w.vcenters) }

// IsWork implements benchmark.Counted.
func (w *setup) IsWork(call string) bool { return call != stream }

func (w *setup) makeZone(ctx context.Context, letter string, vcenter *simulator.Server) error {
	name := w.name + "-" + letter
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
