// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

const (
	// controlPlaneMachines is the number of machines of a control plane.
	controlPlaneMachines = 5
	// controlPlaneTemplate is the template that they were cloned from.
	controlPlaneTemplate = "control-plane"

	mergePatch = types.MergePatchType
)

// spreadCluster is a cluster with a running control plane in its own namespace, in the state in which Cluster API and the bare-metal
// operator leave it. Only the connection to the workload cluster cannot be made, so the Cluster does not report that its infrastructure
// is provisioned.
type spreadCluster struct {
	cluster provider.Cluster
	racks   int
	// even means that no machine must move. Otherwise all are in the first two racks.
	even bool
}

// newSpreadCluster returns the cluster with a number. Half of the clusters are even; they have three to five racks.
func newSpreadCluster(number int) *spreadCluster {
	return &spreadCluster{cluster: provider.Cluster{Name: fmt.Sprintf("cluster-%04d", number), Kind: "Metal3"}, racks: 3 + number%3, even: number%2 == 0}
}

// rackOf returns the number of a machine's rack.
func (p *spreadCluster) rackOf(machine int) int {
	if p.even {
		return machine % p.racks
	}
	return machine % 2
}

func (p *spreadCluster) machine(number int) string {
	return fmt.Sprintf("%s-%d", p.cluster.Name, number)
}

func (p *spreadCluster) asProviderTest(c client.Client) providertest.ControlPlane {
	return providertest.ControlPlane{Client: c, Cluster: client.ObjectKey{Namespace: p.cluster.Name, Name: p.cluster.Name}}
}

// layout returns the hosts that the machines run on, a free host in each empty rack, and the host of each machine.
func (p *spreadCluster) layout() (simulator.Layout, []string) {
	layout, hosts, consumers := simulator.Racks(p.racks, 0), make([]string, controlPlaneMachines), map[string]string{}
	for i := range hosts {
		rack := &layout.Domains[p.rackOf(i)]
		rack.Hosts++
		hosts[i] = fmt.Sprintf("%s-host-%03d", rack.Name, rack.Hosts)
		consumers[hosts[i]] = p.machine(i)
	}
	for i := range layout.Domains {
		layout.Domains[i].Hosts = max(1, layout.Domains[i].Hosts)
	}
	layout.Ready = true
	layout.Change = func(host *bmov1alpha1.BareMetalHost) {
		machine, used := consumers[host.Name]
		if !used {
			return
		}
		image := newMachine(metav1.ObjectMeta{}).Spec.Image
		host.Labels[clusterv1.ClusterNameLabel] = p.cluster.Name
		host.Spec.Image = &bmov1alpha1.Image{URL: image.URL, Checksum: image.Checksum}
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: p.cluster.Name, Name: machine}
	}
	return layout, hosts
}

// create creates all objects. The provider's objects have no status, which its manager sets.
func (p *spreadCluster) create(ctx context.Context, c client.Client) error {
	if err := p.cluster.CreateUnprovisioned(ctx, c); err != nil {
		return err
	}
	template := &infrav1.Metal3MachineTemplate{ObjectMeta: p.cluster.Meta(controlPlaneTemplate)}
	template.Spec.Template.Spec = newMachine(metav1.ObjectMeta{}).Spec
	template.OwnerReferences = []metav1.OwnerReference{p.cluster.Owner}
	layout, hosts := p.layout()
	if err := provider.Create(ctx, c, p.infrastructure(layout), template); err != nil {
		return err
	}
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "Metal3MachineTemplate", Name: controlPlaneTemplate}
	if err := p.asProviderTest(c).Create(ctx, controlPlaneMachines, ref); err != nil {
		return err
	}
	if err := simulator.Create(ctx, c, p.cluster.Name, layout); err != nil {
		return err
	}
	for i, host := range hosts {
		if err := p.createMachine(ctx, c, i, host); err != nil {
			return err
		}
	}
	return nil
}

// infrastructure returns the Metal3Cluster, with rebalancing off.
func (p *spreadCluster) infrastructure(layout simulator.Layout) *infrav1.Metal3Cluster {
	infra := infrastructure(&p.cluster, layout)
	infra.Spec.Distribution.ControlPlane = faultlinev1.ControlPlaneDistribution{
		Rebalance: faultlinev1.ControlPlaneRebalanceOff, StabilizationSeconds: new(int32(0)),
	}
	return infra
}

// createMachine creates a machine that runs on a host.
func (p *spreadCluster) createMachine(ctx context.Context, c client.Client, number int, host string) error {
	name, rack := p.machine(number), fmt.Sprintf("rack-%d", p.rackOf(number)+1)
	id := infrav1.ProviderIDPrefix + p.cluster.Name + "/" + host + "/" + name
	machine, _ := p.cluster.Machine(name, rack)
	machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	machine.Spec.ProviderID = id
	if err := provider.Create(ctx, c, machine); err != nil {
		return err
	}
	infra := newMachine(p.cluster.Meta(name))
	infra.Labels[clusterv1.MachineControlPlaneLabel] = ""
	infra.OwnerReferences = []metav1.OwnerReference{provider.OwnedBy(machine)}
	infra.Finalizers = []string{infrav1.MachineFinalizer}
	infra.Annotations = map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation: controlPlaneTemplate, clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.MachineTemplateGroupKind,
		infrav1.HostAnnotation: p.cluster.Name + "/" + host,
	}
	infra.Spec.FailureDomain, infra.Spec.ProviderID = rack, id
	if err := provider.Create(ctx, c, infra); err != nil {
		return err
	}
	return p.asProviderTest(c).Joined(ctx, name)
}

// spread enables Advise for the control plane, and spreading of workers, although there are none.
func (p *spreadCluster) spread(ctx context.Context, c client.Client) error {
	infra := &infrav1.Metal3Cluster{ObjectMeta: p.cluster.Meta(p.cluster.Name)}
	body := fmt.Sprintf(`{"spec":{"distribution":{"controlPlane":{"rebalance":%q},"workers":{"enabled":true}}}}`, faultlinev1.ControlPlaneRebalanceAdvise)
	return c.Patch(ctx, infra, client.RawPatch(mergePatch, []byte(body)))
}

// copyDomains does what Cluster API does when failure domains are published.
func (p *spreadCluster) copyDomains(ctx context.Context, c client.Client) error {
	infra := &infrav1.Metal3Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: p.cluster.Name, Name: p.cluster.Name}, infra); err != nil {
		return fmt.Errorf("reading Metal3Cluster %s: %w", p.cluster.Name, err)
	}
	return p.asProviderTest(c).CopyDomains(ctx, infra)
}

// report makes the control plane report a rollout, as if a machine were not up to date. Only the rebalancer handles that event.
func (p *spreadCluster) report(ctx context.Context, c client.Client) error {
	return p.asProviderTest(c).Report(ctx, false)
}
