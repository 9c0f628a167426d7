// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// workers creates machines of the MachineDeployment md, which name no rack.
func (f *fixture) workers(from, to int) []*infrav1.Metal3Machine {
	f.t.Helper()
	var machines []*infrav1.Metal3Machine
	for i := from; i <= to; i++ {
		machines = append(machines, f.machine("one", fmt.Sprintf("md-%d", i), "", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
			machine.Labels[clusterv1.MachineDeploymentNameLabel] = "md"
		}))
	}
	return machines
}

func (f *fixture) machineDeployment(replicas int32) {
	f.t.Helper()
	f.user().MachineDeployment("one", replicas, &infrav1.Metal3Machine{ObjectMeta: f.meta("md")})
}

// perRack provisions machines and counts them by the rack of their hosts.
func (f *fixture) perRack(machines []*infrav1.Metal3Machine) map[string]int {
	f.t.Helper()
	counts := map[string]int{}
	for _, machine := range machines {
		counts[f.waitForProvisioned(machine).Labels[infrav1.FailureDomainLabel]]++
	}
	return counts
}

func TestWorkersAreSpreadOverRacks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(3, 4))
	infra := f.clusterWith("one", func(c *infrav1.Metal3Cluster) { c.Spec.Distribution.Workers.Enabled = ptr.To(true) }, "rack-1", "rack-2", "rack-3")
	f.waitForCondition(infra, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	f.machineDeployment(6)
	f.Expect(f.perRack(f.workers(1, 6))).To(Equal(map[string]int{"rack-1": 2, "rack-2": 2, "rack-3": 2}))
	f.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonBalanced)

	update(f, infra, func(c *infrav1.Metal3Cluster) {
		c.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: "rack-1", State: faultlinev1.DomainCordoned}}
	})
	f.Expect(f.perRack(f.workers(7, 8))).To(Equal(map[string]int{"rack-2": 1, "rack-3": 1}))
}

func TestAssignedDomainCannotBeRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	infra := f.clusterWith("one", func(c *infrav1.Metal3Cluster) { c.Spec.Distribution.Workers.Enabled = ptr.To(true) }, "rack-1")
	f.machineDeployment(1)
	f.waitForProvisioned(f.workers(1, 1)[0])
	f.get(infra)
	before := client.MergeFrom(infra.DeepCopy())
	infra.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "rack-2"}}
	f.Expect(f.client.Patch(t.Context(), infra, before)).To(MatchError(ContainSubstring("Metal3Machine md-1 is in it")))
}

func TestLogicalFailureDomains(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(3, 2))
	infra := f.clusterWith("one", func(c *infrav1.Metal3Cluster) {
		c.Spec.Distribution.Workers = faultlinev1.WorkersDistribution{
			Enabled: ptr.To(true), DesiredFailureDomains: ptr.To[int32](2), Required: ptr.To(true), TopologyKey: corev1.LabelTopologyRegion,
		}
		for i := range c.Spec.FailureDomains[:2] {
			c.Spec.FailureDomains[i].Attributes = map[string]string{faultlinev1.RegionAttribute: "north"}
		}
	}, "rack-1", "rack-2", "rack-3")
	f.waitForCondition(infra, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	f.machineDeployment(2)
	machines := f.workers(1, 2)
	message := f.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonWorkersWaiting)
	f.Expect(message).To(And(ContainSubstring("failure domain rack-3 has no region in status.failureDomains"), ContainSubstring("add a failure domain in another region")))

	update(f, infra, func(c *infrav1.Metal3Cluster) {
		c.Spec.FailureDomains[2].Attributes = map[string]string{faultlinev1.RegionAttribute: "south"}
	})
	racks := f.perRack(machines)
	f.Expect(racks).To(And(HaveLen(2), HaveKeyWithValue("rack-3", 1)), "no two are in north")
	f.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonBalanced)
}

func TestUnassignedWorkerHasNoHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	infra := f.clusterWith("one", func(c *infrav1.Metal3Cluster) {
		c.Spec.Distribution.Workers.Enabled = ptr.To(true)
		c.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: "rack-1", State: faultlinev1.DomainCordoned}}
	}, "rack-1")
	f.machineDeployment(1)
	machine := f.workers(1, 1)[0]
	f.waitForReason(machine, faultlinev1.ReasonFailureDomainNotAssigned)
	f.Expect(conditions.GetLastTransitionTime(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition).Sub(machine.CreationTimestamp.Time)).
		To(BeNumerically(">=", 4*time.Second), "the wait is reported only after the grace period")
	f.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonWorkersWaiting)
	f.Eventually(func() error {
		return testutil.GatherAndCompare(f.metrics, strings.NewReader(`
# HELP faultline_failure_domain_waiting_machines Machines that wait for their failure domain.
# TYPE faultline_failure_domain_waiting_machines gauge
faultline_failure_domain_waiting_machines{cluster="one",namespace="`+f.name+`",reason="FailureDomainNotAssigned"} 1
`), "faultline_failure_domain_waiting_machines")
	}).Should(Succeed())
	f.Expect(f.host("rack-1-host-001").Spec.ConsumerRef).To(BeNil())
	update(f, infra, func(c *infrav1.Metal3Cluster) { c.Spec.Distribution.FailureDomains = nil })
	f.waitForProvisioned(machine)
}

func TestNoRebalancingWithoutSuitableHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Layout{Domains: []simulator.Domain{
		{Name: "rack-1", Hosts: 2, Labels: map[string]string{"size": "large"}}, {Name: "rack-2", Hosts: 1, Labels: map[string]string{"size": "small"}},
	}})
	infra := f.clusterWith("one", func(c *infrav1.Metal3Cluster) {
		c.Spec.Distribution.Workers = faultlinev1.WorkersDistribution{Enabled: ptr.To(true), Rebalance: faultlinev1.WorkersRebalanceDeleteOne}
		c.Spec.Distribution.ControlPlane.StabilizationSeconds = ptr.To[int32](0)
		c.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: "rack-2", State: faultlinev1.DomainCordoned}}
	}, "rack-1", "rack-2")
	f.machineDeployment(2)
	for i := 1; i <= 2; i++ {
		f.waitForProvisioned(f.machine("one", fmt.Sprintf("md-%d", i), "", func(machine *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
			machine.Labels[clusterv1.MachineDeploymentNameLabel] = "md"
			metal3.Spec.HostSelector.MatchLabels = map[string]string{"size": "large"}
		}))
	}
	md := &clusterv1.MachineDeployment{ObjectMeta: f.meta("md")}
	updateStatus(f, md, func(md *clusterv1.MachineDeployment) {
		md.Status.ObservedGeneration, md.Status.Replicas, md.Status.AvailableReplicas, md.Status.UpToDateReplicas = md.Generation, ptr.To[int32](2), ptr.To[int32](2), ptr.To[int32](2)
	})

	update(f, infra, func(c *infrav1.Metal3Cluster) { c.Spec.Distribution.FailureDomains = nil })
	f.Expect(f.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonNotBalanced)).To(ContainSubstring(
		"failure domain rack-2 does not suit the replacement of Machine md-1: failure domain rack-2: 1 host, 1 not matching spec.hostSelector: free or label a host there, or cordon it"))
	left := &clusterv1.MachineList{}
	f.Expect(f.client.List(t.Context(), left, client.InNamespace(f.name))).To(Succeed())
	f.Expect(left.Items).To(HaveLen(2))

	host := f.host("rack-2-host-001")
	update(f, host, func(host *bmov1alpha1.BareMetalHost) { host.Labels["size"] = "large" })
	update(f, infra, func(c *infrav1.Metal3Cluster) { c.Spec.Distribution.HoldPeriodSeconds = ptr.To[int32](1) }) // to requeue soon
	f.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonMoving)
}
