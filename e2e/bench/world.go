// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// createAtOnce is how many objects the bench creates at the same time.
	createAtOnce = 8
	// worldLabel marks the zones of a world.
	worldLabel = "bench"
	account    = "account"
	datacenter = "dc-1"
	// spareNetwork is renamed to disturb the inventory; no zone names it.
	spareNetwork = simulator.NetworkName
)

func vSphereKinds(scheme *runtime.Scheme) error { return infrav1.AddToScheme(scheme) }

// zoneLetters are those of simulator.ThreeZones.
func zoneLetters() []string { return []string{"a", "b", "c"} }

// world is a vCenter and a cluster on it, in a namespace of its own.
type world struct {
	name    string // of the namespace and of the cluster
	client  client.WithWatch
	vcenter *simulator.Server
	owner   metav1.OwnerReference // the Cluster
	zones   []*infrav1.VSphereDeploymentZone
	made    int // machines so far
}

// machines are pairs of Machine and VSphereMachine, of which the former exist.
type machines []*infrav1.VSphereMachine

// world starts a vCenter with three zones and makes the cluster on it.
func (l *lab) world(ctx context.Context, name string) (*world, error) {
	vcenter, err := simulator.New(simulator.ThreeZones()) //nolint:contextcheck // A vCenter runs until it is closed.
	if err != nil {
		return nil, fmt.Errorf("starting the vCenter simulator: %w", err)
	}
	l.closers = append(l.closers, vcenter.Close)
	w := &world{name: name, client: l.client, vcenter: vcenter}
	if err := w.makeCluster(ctx); err != nil {
		return nil, err
	}
	for _, letter := range zoneLetters() {
		if err := w.makeZone(ctx, letter); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *world) calls() Counts { return w.vcenter.Calls() }

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: w.name}}
}

func (w *world) create(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := w.client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// makeCluster leaves the Cluster as Cluster API does when its infrastructure is
// provisioned.
func (w *world) makeCluster(ctx context.Context) error {
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta(w.name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef:    reference("VSphereCluster", w.name),
		ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}}
	err := w.create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}},
		&corev1.Secret{ObjectMeta: w.meta(account), StringData: map[string]string{
			"username": w.vcenter.Username(), "password": w.vcenter.Password(),
		}},
		cluster)
	if err != nil {
		return err
	}
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := w.client.Status().Update(ctx, cluster); err != nil {
		return fmt.Errorf("provisioning Cluster %s: %w", w.name, err)
	}
	w.owner = metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: w.name, UID: cluster.UID}
	infra := &infrav1.VSphereCluster{ObjectMeta: w.meta(w.name), Spec: infrav1.VSphereClusterSpec{
		Server: w.vcenter.Host(), Thumbprint: w.vcenter.Thumbprint(),
		IdentityRef:           infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: account},
		ControlPlaneEndpoint:  infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
		FailureDomainSelector: &metav1.LabelSelector{MatchLabels: map[string]string{worldLabel: w.name}},
	}}
	infra.OwnerReferences = []metav1.OwnerReference{w.owner}
	return w.create(ctx, infra)
}

func reference(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
}

func (w *world) makeZone(ctx context.Context, letter string) error {
	meta := metav1.ObjectMeta{Name: w.zone(letter), Labels: map[string]string{worldLabel: w.name}}
	domain := &infrav1.VSphereFailureDomain{ObjectMeta: meta, Spec: infrav1.VSphereFailureDomainSpec{
		Region: infrav1.FailureDomain{Name: simulator.RegionTag, Type: infrav1.DatacenterFailureDomain, TagCategory: simulator.RegionCategory},
		Zone:   infrav1.FailureDomain{Name: "zone-" + letter, Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.ZoneCategory},
		Topology: infrav1.Topology{
			Datacenter: datacenter, ComputeCluster: "zone-" + letter, Datastore: "datastore-" + letter, Networks: []string{"network-" + letter},
		},
	}}
	zone := &infrav1.VSphereDeploymentZone{ObjectMeta: *meta.DeepCopy(), Spec: infrav1.VSphereDeploymentZoneSpec{
		Server: w.vcenter.Host(), FailureDomain: domain.Name,
	}}
	w.zones = append(w.zones, zone)
	return w.create(ctx, domain, zone)
}

func (w *world) zone(letter string) string { return w.name + "-" + letter }

// zonesReady waits until the manager has found the zones in order.
func (w *world) zonesReady(ctx context.Context) error {
	var last *infrav1.VSphereDeploymentZone
	err := wait.PollUntilContextCancel(ctx, lookEvery, true, func(ctx context.Context) (bool, error) {
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
		return fmt.Errorf("waiting for VSphereDeploymentZone %s to be ready: %w%s", last.Name, because(ctx, err), explain(last.Status.Conditions))
	}
	return nil
}

// touchZones gives the manager a reason to check every zone again.
func (w *world) touchZones(ctx context.Context, round int) error {
	for _, zone := range w.zones {
		before := zone.DeepCopy()
		metav1.SetMetaDataAnnotation(&zone.ObjectMeta, worldLabel, strconv.Itoa(round))
		if err := w.client.Patch(ctx, zone, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("touching VSphereDeploymentZone %s: %w", zone.Name, err)
		}
	}
	return nil
}

// touchVMs gives the manager a reason to look at every VM.
func (w *world) touchVMs(ctx context.Context) error {
	list := &infrav1.VSphereVMList{}
	if err := w.client.List(ctx, list, client.InNamespace(w.name)); err != nil {
		return fmt.Errorf("listing VSphereVMs: %w", err)
	}
	for i := range list.Items {
		vm := &list.Items[i]
		before := vm.DeepCopy()
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, worldLabel, "touched")
		if err := w.client.Patch(ctx, vm, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("touching VSphereVM %s: %w", vm.Name, err)
		}
	}
	return nil
}

// disturb changes the inventory in a way that matters to no zone.
func (w *world) disturb(_ context.Context, round int) error {
	names := []string{spareNetwork, spareNetwork + " (renamed)"}
	return w.vcenter.RenameNetwork(datacenter, names[round%2], names[(round+1)%2])
}

// prepare makes n Machines with bootstrap data, spread over the zones.
func (w *world) prepare(ctx context.Context, n int) (machines, error) {
	made, before := make(machines, n), w.made
	w.made += n
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(createAtOnce)
	for i := range made {
		group.Go(func() (err error) {
			zones := zoneLetters()
			made[i], err = w.prepareOne(ctx, fmt.Sprintf("%s-%03d", w.name, before+i), w.zone(zones[i%len(zones)]))
			return err
		})
	}
	return made, group.Wait()
}

func (w *world) prepareOne(ctx context.Context, name, domain string) (*infrav1.VSphereMachine, error) {
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: w.name, FailureDomain: domain,
		Bootstrap:         clusterv1.Bootstrap{DataSecretName: &name},
		InfrastructureRef: reference("VSphereMachine", name),
	}}
	machine.OwnerReferences = []metav1.OwnerReference{w.owner}
	data := &corev1.Secret{ObjectMeta: w.meta(name), StringData: map[string]string{"value": "#cloud-config\n", "format": "cloud-config"}}
	if err := w.create(ctx, data, machine); err != nil {
		return nil, err
	}
	vsphere := &infrav1.VSphereMachine{ObjectMeta: w.meta(name), Spec: infrav1.VSphereMachineSpec{
		VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
			Template: simulator.TemplateName, Folder: "workload",
			Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{NetworkName: simulator.NetworkName, DHCP4: new(true)}}},
		},
	}}
	vsphere.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID, Controller: new(true),
	}}
	return vsphere, nil
}

// provision creates the VSphereMachines and answers how long it took until the
// last of them was provisioned.
func (w *world) provision(ctx context.Context, all machines) (time.Duration, error) {
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(createAtOnce + 1)
	group.Go(func() error { return w.provisioned(groupCtx, all) })
	for _, machine := range all {
		// The watch decodes into objects of its own, so this one is not shared.
		group.Go(func() error { return w.create(groupCtx, machine) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if count := len(w.vcenter.VMs()); count != w.made {
		return 0, fmt.Errorf("counting VMs: vCenter has %d for %d machines", count, w.made)
	}
	return took, nil
}

// provisioned returns when every machine was seen to be.
func (w *world) provisioned(ctx context.Context, all machines) error {
	names := make([]string, 0, len(all))
	for _, machine := range all {
		names = append(names, machine.Name)
	}
	return await(ctx, w.client, &infrav1.VSphereMachineList{}, w.name, newWaiting(names, func(machine *infrav1.VSphereMachine) bool {
		provisioned := machine.Status.Initialization.Provisioned
		return provisioned != nil && *provisioned
	}))
}

// explain lists the conditions that are not true.
func explain(conditions []metav1.Condition) string {
	var text strings.Builder
	for _, condition := range conditions {
		if condition.Status != metav1.ConditionTrue {
			fmt.Fprintf(&text, "\n  %s %s: %s", condition.Type, condition.Reason, condition.Message)
		}
	}
	return text.String()
}
