//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"errors"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/kind"
	"github.com/faultline-io/faultline/e2e/workload"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// bareMetal is the provider for hosts of the bare-metal operator, which is simulated beside the kind cluster. Each
// namespace has hosts of its own: a provider takes no others.
type bareMetal struct{}

const (
	// hostsPerRack is what the spec that needs most has in one rack: a worker group while it is rolled out.
	hostsPerRack = 12
	// hostsThatBoot is enough for a control-plane machine, a worker and one to replace either.
	hostsThatBoot = 3
	// firstHost leaves numbers for the hosts that the environment brings.
	firstHost = 20
)

// racked counts the hosts that boot: they are on one network, so each has a number of its own.
var racked int

func (bareMetal) addToScheme(s *runtime.Scheme) error {
	return errors.Join(infrav1.AddToScheme(s), bmov1alpha1.AddToScheme(s))
}

func (bareMetal) namespace() string   { return "capm3-system" }
func (bareMetal) certificate() string { return "capm3-webhook-service-cert" }
func (bareMetal) domains() []string   { return []string{"rack-a", "rack-b", "rack-c"} }

func (bareMetal) described() []string {
	return []string{"Metal3Cluster ", "FailureDomainsReady", "AssociateBareMetalHost"}
}

func (bareMetal) clusterKind() string { return "Metal3Cluster" }

func (bareMetal) kinds() map[schema.GroupVersionKind]string {
	version, hosts := infrav1.GroupVersion, bmov1alpha1.GroupVersion
	return map[schema.GroupVersionKind]string{
		version.WithKind("Metal3Cluster"):         clusterv1.ReadyCondition,
		version.WithKind("Metal3Machine"):         clusterv1.ReadyCondition,
		version.WithKind("Metal3MachineTemplate"): "",
		version.WithKind("Metal3DataTemplate"):    "",
		version.WithKind("Metal3DataClaim"):       "",
		version.WithKind("Metal3Data"):            clusterv1.ReadyCondition,
		hosts.WithKind("BareMetalHost"):           "",
		hosts.WithKind("HardwareData"):            "",
	}
}

func (bareMetal) shared() []string { return nil }

// prepare racks hosts, which the operator registers and inspects then.
func (b bareMetal) prepare(ctx context.Context, namespace string) {
	layout, hosts := simulator.Layout{}, hostsPerRack
	if !*fast {
		layout.First, hosts = firstHost+racked, hostsThatBoot
		racked += hosts * len(b.domains())
	}
	for _, rack := range b.domains() {
		layout.Domains = append(layout.Domains, simulator.Domain{Name: rack, Hosts: hosts})
	}
	Expect(simulator.Create(ctx, management.GetClient(), namespace, layout)).To(Succeed())
}

func (bareMetal) shortenGrace(ctx context.Context, g Gomega, namespace, name string) {
	cluster := &infrav1.Metal3Cluster{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster)).To(Succeed())
	cluster.Spec.Distribution.GracePeriodSeconds, cluster.Spec.Distribution.HoldPeriodSeconds = ptr.To[int32](1), ptr.To[int32](1)
	g.Expect(management.GetClient().Update(ctx, cluster)).To(Succeed())
}

func (bareMetal) observed(ctx context.Context, g Gomega, namespace string) map[string]string {
	machines := &infrav1.Metal3MachineList{}
	g.Expect(management.GetClient().List(ctx, machines, client.InNamespace(namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel})).To(Succeed())
	domains := map[string]string{}
	for i := range machines.Items {
		domains[machines.Items[i].Name] = machines.Items[i].Status.FailureDomain
	}
	return domains
}

// places are where somebody has a host. A namespace of our own specs has the name of its cluster.
func (bareMetal) places(ctx context.Context, cluster string) map[string]string {
	hosts, err := simulator.Placements(ctx, management.GetClient(), cluster)
	Expect(err).NotTo(HaveOccurred())
	places := map[string]string{}
	for _, host := range hosts {
		if host.Consumer != "" {
			places[host.Consumer] = host.Domain
		}
	}
	return places
}

// server is a host that somebody has, with what the operator has done to it.
type server struct {
	Host, Domain, MAC, Image, ProvisioningID string
	State                                    bmov1alpha1.ProvisioningState
	Health                                   bmov1alpha1.OperationalStatus
	PoweredOn, Paused                        bool
	Done                                     bmov1alpha1.OperationHistory
}

func (bareMetal) machines(ctx context.Context, cluster string) map[string]any {
	hosts := &bmov1alpha1.BareMetalHostList{}
	Expect(management.GetClient().List(ctx, hosts, client.InNamespace(cluster))).To(Succeed())
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
	return found
}

// handOver stops the operator, as everybody does whose clusters on bare metal change hands: two of them must not have the same
// hosts, and clusterctl takes the annotation off that pauses a host before it removes the source's copy.
func (bareMetal) handOver(ctx context.Context, from *kind.Environment, move func()) {
	Expect(from.StopOperator(ctx)).To(Succeed())
	move()
	Expect(from.StartOperator(ctx)).To(Succeed())
}

// setBroken marks all hosts of a rack as unhealthy, as an administrator does who is about to work on it, or takes that
// back. What runs on them goes on.
func (bareMetal) setBroken(ctx context.Context, domain string, broken bool) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	Expect(management.GetClient().List(ctx, hosts, client.MatchingLabels{infrav1.FailureDomainLabel: domain})).To(Succeed())
	for i := range hosts.Items {
		host := &hosts.Items[i]
		before := host.DeepCopy()
		if broken {
			metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.UnhealthyAnnotation, "")
		} else {
			delete(host.Annotations, infrav1.UnhealthyAnnotation)
		}
		Expect(client.IgnoreNotFound(management.GetClient().Patch(ctx, host, client.MergeFrom(before)))).To(Succeed())
	}
}

// connect lets machines of clusters that are kept in memory run while their hosts do.
func (bareMetal) connect(ctx context.Context, config *rest.Config, workloads *workload.Simulator) error {
	return newBoots(workloads).start(ctx, config)
}
