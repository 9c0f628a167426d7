// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/faults"
)

// target is a Harvester with three zones.
type target struct {
	*provider.Disturbance

	client    client.WithWatch
	cluster   *provider.Cluster
	harvester *simulator.Simulator
}

// Modes implements provider.ChaosProvider.
func (Provider) Modes() []provider.Mode {
	return provider.FaultModes("Harvester obeys immediately", simulator.Faults(), newTarget)
}

func newTarget(ctx context.Context, o provider.TargetOptions, fault *faults.Fault[*simulator.Simulator, simulator.Option, simulator.Host]) (provider.Target, error) {
	options := append([]simulator.Option{simulator.WithAssets(o.Programs), simulator.WithLayout(layout())}, fault.Options...)
	harvester, err := simulator.Run(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("starting the Harvester simulator: %w", err)
	}
	h := &target{client: o.Client, harvester: harvester}
	h.Disturbance = provider.DisturbanceBy(context.WithoutCancel(ctx), fault, harvester, func() []simulator.Host { return layout().Hosts })
	if h.cluster, err = CreateCluster(ctx, o.Client, o.Cluster, harvester); err == nil {
		err = h.Begin()
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// CreateCluster creates a cluster on a Harvester with the zones of the layout as failure domains, and waits until they are published.
func CreateCluster(
	ctx context.Context, api client.Client, name string, harvester *simulator.Simulator, change ...func(*infrav1.HarvesterCluster),
) (*provider.Cluster, error) {
	c := &provider.Cluster{Name: name, Kind: "Harvester"}
	if err := c.Create(ctx, api); err != nil {
		return nil, err
	}
	infra := &infrav1.HarvesterCluster{ObjectMeta: c.Meta(name), Spec: infrav1.HarvesterClusterSpec{
		IdentitySecret: infrav1.SecretKey{Namespace: name, Name: identity}, TargetNamespace: vmNamespace,
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: provider.Endpoint().Host, Port: provider.Endpoint().Port},
	}}
	infra.OwnerReferences = []metav1.OwnerReference{c.Owner}
	for _, zone := range zoneNames() {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, infrav1.HarvesterFailureDomain{Name: zone})
	}
	for _, each := range change {
		each(infra)
	}
	access := &corev1.Secret{ObjectMeta: c.Meta(identity), Data: map[string][]byte{infrav1.KubeconfigKey: harvester.Kubeconfig()}}
	if err := provider.Create(ctx, api, access, infra); err != nil {
		return nil, err
	}
	return c, provider.Await(ctx, api, infra, "the failure domains", func() bool {
		return len(infra.Status.FailureDomains) == len(zoneNames()) && ptr.Deref(infra.Status.Initialization.Provisioned, false)
	})
}

// identity is the name of the Secret with the kubeconfig.
const identity = "harvester"

// Machine returns a machine that fits on any host.
func Machine(meta metav1.ObjectMeta) *infrav1.HarvesterMachine {
	return &infrav1.HarvesterMachine{ObjectMeta: meta, Spec: infrav1.HarvesterMachineSpec{
		CPU: 1, Memory: "1Gi", SSHUser: "ubuntu", SSHKeyPair: "default/admin", Networks: []string{"default/vlan-1"},
		Volumes: []infrav1.Volume{{VolumeType: "image", ImageName: "default/ubuntu", VolumeSize: ptr.To(resource.MustParse("10Gi"))}},
	}}
}

func (h *target) Cluster() *provider.Cluster { return h.cluster }

func (h *target) Domains() []string { return zoneNames() }

func (h *target) Machine(meta metav1.ObjectMeta) client.Object { return Machine(meta) }

// Add implements provider.Target. The cluster has its own target namespace.
func (h *target) Add(ctx context.Context, name string) (provider.SoakCluster, error) {
	c, err := CreateCluster(ctx, h.client, name, h.harvester, func(infra *infrav1.HarvesterCluster) { infra.Spec.TargetNamespace = name })
	if err != nil {
		return provider.SoakCluster{}, err
	}
	return provider.SoakCluster{Cluster: c, Infrastructure: &infrav1.HarvesterCluster{ObjectMeta: c.Meta(name)}, Domain: zoneNames()[0]}, nil
}

// Remove implements provider.Target.
func (h *target) Remove(ctx context.Context, name string) error {
	return client.IgnoreNotFound(h.harvester.Client().Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// Open implements provider.Target.
func (h *target) Open() int { return len(h.harvester.Watches()) }

// Observe reads the objects on Harvester before the machines: resources of a machine are deleted before the machine.
func (h *target) Observe(ctx context.Context) (provider.Snapshot, error) {
	found, err := ListObjects(ctx, h.harvester.Client())
	if err != nil {
		return provider.Snapshot{}, err
	}
	machines := &infrav1.HarvesterMachineList{}
	if err := h.client.List(ctx, machines, client.InNamespace(h.cluster.Name)); err != nil {
		return provider.Snapshot{}, err
	}
	s := provider.Snapshot{Machines: map[string]provider.MachineState{}}
	uids, running := map[string]string{}, map[string]bool{}
	for i := range found.VMs.Items {
		held := found.resource(&found.VMs.Items[i])
		s.Resources = append(s.Resources, held)
		uids[held.Owner], running[held.Owner] = string(found.VMs.Items[i].UID), held.Running
	}
	for i := range machines.Items {
		machine := &machines.Items[i]
		// If its host lost power while no manager runs, the machine's status is outdated.
		says := conditions.IsTrue(machine, infrav1.VMRunningCondition)
		is := provider.StateOf(machine, says && running[machine.Name], machine.Spec.ProviderID, infrav1.ProviderIDPrefix+uids[machine.Name])
		if says && uids[machine.Name] == "" && machine.DeletionTimestamp.IsZero() {
			is.Faults = append(is.Faults, "reports that it runs, but has no virtual machine")
		}
		s.Machines[machine.Name] = is
	}
	return s, nil
}

// resource returns the resource of a virtual machine. It belongs to the machine of the same name, because names are unique in a run.
func (f *Objects) resource(vm *kubevirtv1.VirtualMachine) provider.Resource {
	is := f.Placement(vm)
	held := provider.Resource{Name: "VM " + vm.Name, Domain: is.Domain, Running: is.Running}
	if _, name, ok := infrav1.ParseOwner(vm.Annotations[infrav1.OwnerAnnotation]); ok {
		held.Owner = name
	}
	return held
}

// Leftovers reports all remaining objects of machines.
func (h *target) Leftovers(ctx context.Context) ([]provider.Fault, error) {
	faults, err := provider.Leftovers(ctx, h.harvester.Client(), "",
		func(secret *corev1.Secret) bool { return !metav1.HasLabel(secret.ObjectMeta, infrav1.MachineIDLabel) },
		&kubevirtv1.VirtualMachineList{}, &kubevirtv1.VirtualMachineInstanceList{}, &corev1.PersistentVolumeClaimList{})
	if err != nil {
		return nil, err
	}
	objects, err := provider.Leftovers(ctx, h.client, h.cluster.Name, func(secret *corev1.Secret) bool { return secret.Name == identity },
		&infrav1.HarvesterMachineList{})
	return append(faults, objects...), err
}

// Close stops Harvester. Its errors no longer matter.
func (h *target) Close() { _ = h.harvester.Stop() }
