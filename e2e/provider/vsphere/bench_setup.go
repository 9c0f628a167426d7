// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// touched is an annotation that changes so that an object does.
	touched = "bench"
	// spareNetwork is renamed to disturb the inventory; no zone names it.
	spareNetwork = simulator.NetworkName
)

// zoneLetters are those of simulator.ThreeZones.
func zoneLetters() []string { return []string{"a", "b", "c"} }

// setup is a vCenter and a cluster on it, in a namespace of its own.
type setup struct {
	name    string // of the namespace and of the cluster
	client  client.WithWatch
	vcenter *simulator.Server
	cluster *provider.Cluster
	zones   []*infrav1.VSphereDeploymentZone
	foreign int // virtual machines that were there before
	made    int // machines so far
}

// machines are pairs of Machine and VSphereMachine, of which the former exist.
type machines []*infrav1.VSphereMachine

// setUp starts a vCenter with three zones and makes the cluster on it.
func (l scenario) setUp(ctx context.Context, name string, opts ...simulator.Option) (*setup, error) {
	vcenter, err := l.vcenter(simulator.ThreeZones(), opts...) //nolint:contextcheck // A vCenter runs until it is closed.
	if err != nil {
		return nil, err
	}
	return l.setUpOn(ctx, name, vcenter)
}

func (l scenario) vcenter(layout simulator.Layout, opts ...simulator.Option) (*simulator.Server, error) {
	vcenter, err := simulator.New(layout, opts...)
	if err != nil {
		return nil, fmt.Errorf("starting the vCenter simulator: %w", err)
	}
	l.OnStop(vcenter.Close)
	return vcenter, nil
}

// setUpOn makes the cluster on a vCenter that has the zones.
func (l scenario) setUpOn(ctx context.Context, name string, vcenter *simulator.Server) (_ *setup, err error) {
	w := &setup{name: name, client: l.Client, vcenter: vcenter, foreign: len(vcenter.VMs())}
	if w.cluster, err = createCluster(ctx, l.Client, name, vcenter); err != nil {
		return nil, err
	}
	for _, letter := range zoneLetters() {
		if err := w.makeZone(ctx, letter); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Calls implements benchmark.Counted.
func (w *setup) Calls() benchmark.Counts { return w.vcenter.Calls() }

// stream is the call that waits for changes. It is under way all the time.
const stream = "WaitForUpdatesEx"

// IsWork implements benchmark.Counted.
func (w *setup) IsWork(call string) bool { return call != stream }

// Names of the controllers that check zones and look after VMs.
const (
	zoneController = "vspheredeploymentzone"
	vmController   = "vspherevm"
)

func (w *setup) makeZone(ctx context.Context, letter string) error {
	domain, zone := newZone(w.cluster, w.zone(letter), w.vcenter, infrav1.VSphereFailureDomainSpec{
		Region: infrav1.FailureDomain{Name: simulator.RegionTag, Type: infrav1.DatacenterFailureDomain, TagCategory: simulator.RegionCategory},
		Zone:   infrav1.FailureDomain{Name: "zone-" + letter, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.ZoneCategory},
		Topology: infrav1.Topology{
			Datacenter: datacenterName, ComputeCluster: "zone-" + letter, Datastore: "datastore-" + letter, Networks: []string{"network-" + letter},
		},
	})
	w.zones = append(w.zones, zone)
	return provider.Create(ctx, w.client, domain, zone)
}

func (w *setup) zone(letter string) string { return w.name + "-" + letter }

// zonesReady waits until the manager has found the zones in order.
func (w *setup) zonesReady(ctx context.Context) error {
	var last *infrav1.VSphereDeploymentZone
	err := wait.PollUntilContextCancel(ctx, provider.LookEvery, true, func(ctx context.Context) (bool, error) {
		for _, last = range w.zones {
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(last), last); err != nil {
				return false, err
			}
			if last.Status.Ready == nil || !*last.Status.Ready {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for VSphereDeploymentZone %s to be ready: %w%s", last.Name, provider.Because(ctx, err), provider.Explain(last.Status.Conditions))
	}
	return nil
}

// touchZones gives the manager a reason to check every zone again.
func (w *setup) touchZones(ctx context.Context, round int) error {
	for _, zone := range w.zones {
		before := zone.DeepCopy()
		metav1.SetMetaDataAnnotation(&zone.ObjectMeta, touched, strconv.Itoa(round))
		if err := w.client.Patch(ctx, zone, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("touching VSphereDeploymentZone %s: %w", zone.Name, err)
		}
	}
	return nil
}

// touchVMs gives the manager a reason to look at every VM.
func (w *setup) touchVMs(ctx context.Context) error {
	list := &infrav1.VSphereVMList{}
	if err := w.client.List(ctx, list, client.InNamespace(w.name)); err != nil {
		return fmt.Errorf("listing VSphereVMs: %w", err)
	}
	for i := range list.Items {
		vm := &list.Items[i]
		before := vm.DeepCopy()
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, touched, "touched")
		if err := w.client.Patch(ctx, vm, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("touching VSphereVM %s: %w", vm.Name, err)
		}
	}
	return nil
}

// disturb changes the inventory in a way that matters to no zone.
func (w *setup) disturb(_ context.Context, round int) error {
	names := []string{spareNetwork, spareNetwork + " (renamed)"}
	return w.vcenter.RenameNetwork(datacenterName, names[round%2], names[(round+1)%2])
}

// prepare makes n Machines with bootstrap data, spread over the zones.
func (w *setup) prepare(ctx context.Context, n int) (machines, error) {
	made, before := make(machines, n), w.made
	w.made += n
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	for i := range made {
		group.Go(func() (err error) {
			zones := zoneLetters()
			made[i], err = w.prepareOne(ctx, fmt.Sprintf("%s-%03d", w.name, before+i), w.zone(zones[i%len(zones)]))
			return err
		})
	}
	return made, group.Wait()
}

func (w *setup) prepareOne(ctx context.Context, name, domain string) (*infrav1.VSphereMachine, error) {
	meta, err := w.cluster.CreateMachine(ctx, w.client, name, domain)
	return newMachine(meta), err
}

// provision creates the VSphereMachines and answers how long it took until the
// last of them was provisioned.
func (w *setup) provision(ctx context.Context, all machines) (time.Duration, error) {
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce + 1)
	group.Go(func() error { return w.provisioned(groupCtx, all) })
	for _, machine := range all {
		// The watch decodes into objects of its own, so this one is not shared.
		group.Go(func() error { return provider.Create(groupCtx, w.client, machine) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if count := len(w.vcenter.VMs()) - w.foreign; count != w.made {
		return 0, fmt.Errorf("counting VMs: vCenter has %d for %d machines", count, w.made)
	}
	return took, nil
}

// provisioned returns when every machine was seen to be.
func (w *setup) provisioned(ctx context.Context, all machines) error {
	names := make([]string, 0, len(all))
	for _, machine := range all {
		names = append(names, machine.Name)
	}
	return benchmark.Await(ctx, w.client, &infrav1.VSphereMachineList{}, w.name, benchmark.NewWaiting(names, func(machine *infrav1.VSphereMachine) bool {
		provisioned := machine.Status.Initialization.Provisioned
		return provisioned != nil && *provisioned
	}))
}
