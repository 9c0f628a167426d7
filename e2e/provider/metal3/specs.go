// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const (
	// hostsInMemory is what the spec that needs most has in one rack: a worker group while it is rolled out.
	hostsInMemory = 12
	// firstHost leaves numbers for the hosts that the environment brings.
	firstHost = 20
)

// observer looks at clusters on bare metal.
type observer struct {
	provider.Management

	// made is how many hosts that boot were made so far: each has a number of its own, wherever it is.
	made int
}

// Observe implements provider.Specified.
func (Provider) Observe(m provider.Management) provider.Observer { return &observer{Management: m} }

// Connect implements provider.Specified: a host that has power runs its machine.
func (Provider) Connect(ctx context.Context, management *rest.Config, workloads *workload.Simulator) error {
	return newBoots(workloads).start(ctx, management)
}

// Prepare makes hosts. Those that boot are enough for a control-plane machine, a worker and one to replace either in each rack.
func (o *observer) Prepare(ctx context.Context, namespace string) (map[string]string, error) {
	layout, hosts := simulator.Layout{}, hostsInMemory
	if o.Boot {
		layout.First, hosts = firstHost+o.made, hostsPerRack
		o.made += hosts * len(rackNames())
	}
	for _, rack := range rackNames() {
		layout.Domains = append(layout.Domains, simulator.Domain{Name: rack, Hosts: hosts})
	}
	return nil, simulator.Create(ctx, o.Client(), namespace, layout)
}

func (o *observer) Distribute(ctx context.Context, key client.ObjectKey, change func(*faultlinev1.Distribution)) error {
	return o.change(ctx, key, func(cluster *infrav1.Metal3Cluster) { change(&cluster.Spec.Distribution) })
}

func (o *observer) SetDomains(ctx context.Context, key client.ObjectKey, names []string) error {
	return o.change(ctx, key, func(cluster *infrav1.Metal3Cluster) {
		cluster.Spec.FailureDomains = nil
		for _, name := range names {
			cluster.Spec.FailureDomains = append(cluster.Spec.FailureDomains, clusterv1.FailureDomain{Name: name, ControlPlane: ptr.To(true)})
		}
	})
}

func (o *observer) change(ctx context.Context, key client.ObjectKey, change func(*infrav1.Metal3Cluster)) error {
	cluster := &infrav1.Metal3Cluster{}
	if err := o.Client().Get(ctx, key, cluster); err != nil {
		return err
	}
	change(cluster)
	return o.Client().Update(ctx, cluster)
}

func (o *observer) Observed(ctx context.Context, namespace string) (map[string]string, error) {
	machines := &infrav1.Metal3MachineList{}
	if err := o.Client().List(ctx, machines, client.InNamespace(namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return nil, err
	}
	domains := map[string]string{}
	for i := range machines.Items {
		domains[machines.Items[i].Name] = machines.Items[i].Status.FailureDomain
	}
	return domains, nil
}

func (o *observer) Places(ctx context.Context, cluster string) (map[string]string, error) {
	hosts, err := simulator.Placements(ctx, o.Client(), cluster)
	if err != nil {
		return nil, err
	}
	places := map[string]string{}
	for _, host := range hosts {
		if host.Consumer != "" {
			places[host.Consumer] = host.Domain
		}
	}
	return places, nil
}

// server is all that tells a host in use from another, and whether something was done to it.
type server struct {
	Host, Domain, MAC, Image, ProvisioningID string
	State                                    bmov1alpha1.ProvisioningState
	Health                                   bmov1alpha1.OperationalStatus
	PoweredOn, Paused                        bool
	Done                                     bmov1alpha1.OperationHistory
}

func (o *observer) Machines(ctx context.Context, cluster string) (map[string]any, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := o.Client().List(ctx, hosts, client.InNamespace(cluster)); err != nil {
		return nil, err
	}
	found := map[string]any{}
	for i := range hosts.Items {
		host, status := &hosts.Items[i], &hosts.Items[i].Status
		if host.Spec.ConsumerRef == nil {
			continue
		}
		found[host.Spec.ConsumerRef.Name] = server{
			Host: host.Name, Domain: host.Labels[infrav1.FailureDomainLabel], MAC: host.Spec.BootMACAddress,
			Image: status.Provisioning.Image.URL, ProvisioningID: status.Provisioning.ID, State: status.Provisioning.State,
			Health: status.OperationalStatus, PoweredOn: status.PoweredOn, Paused: metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.PausedAnnotation),
			Done: status.OperationHistory,
		}
	}
	return found, nil
}

// SetBroken marks the hosts of a rack as unhealthy, as an administrator does.
func (o *observer) SetBroken(ctx context.Context, domain string, broken bool) error {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := o.Client().List(ctx, hosts, client.MatchingLabels{infrav1.FailureDomainLabel: domain}); err != nil {
		return err
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		before := host.DeepCopy()
		if broken {
			metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.UnhealthyAnnotation, "")
		} else {
			delete(host.Annotations, infrav1.UnhealthyAnnotation)
		}
		if err := client.IgnoreNotFound(o.Client().Patch(ctx, host, client.MergeFrom(before))); err != nil {
			return err
		}
	}
	return nil
}
