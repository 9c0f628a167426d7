// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

func (f *fixture) node(machine string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-" + machine}}
}

func TestProviderIDFromCloudProvider(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.clusterWith("one", func(infra *infrav1.Metal3Cluster) { infra.Spec.CloudProviderEnabled = ptr.To(true) }, "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)).NotTo(BeEmpty())
	node := f.node("cp-0")
	f.Eventually(func() error { return f.client.Get(t.Context(), client.ObjectKeyFromObject(node), node) }).Should(Succeed())
	f.Expect(node.Spec.ProviderID).To(BeEmpty(), "it is not ours to set")
	update(f, node, func(node *corev1.Node) { node.Spec.ProviderID = "metal3://" + f.name + "/" + rack1 + "/cp-0" })
	f.waitForProvisioned(machine)
	f.Expect(machine.Spec.ProviderID).To(Equal(node.Spec.ProviderID))
}

func TestLateNodeEnqueuesMachine(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	f.create(f.node("cp-0")) // a kubelet that has not set its labels yet
	machine := f.machine("one", "cp-0", "rack-1")
	f.Eventually(func() string {
		return f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)
	}).Should(ContainSubstring("metal3.io/uuid="))
	update(f, f.node("cp-0"), func(node *corev1.Node) {
		metav1.SetMetaDataLabel(&node.ObjectMeta, infrav1.NodeUUIDLabel, string(f.host(rack1).UID))
	})
	f.waitForProvisioned(machine)
}

func TestMachineWithoutBootstrapConfigNeedsNoNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
	})
	f.waitForProvisioned(machine)
	f.Expect(machine.Spec.ProviderID).To(HaveSuffix("/" + rack1 + "/cp-0"))
}

func TestProviderIDWithoutBootstrapConfig(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]func(*fixture) map[string]string{
		"by the UID of its host": func(f *fixture) map[string]string {
			return map[string]string{infrav1.NodeUUIDLabel: string(f.host(rack1).UID)}
		},
		"by its hostname": func(f *fixture) map[string]string {
			return map[string]string{corev1.LabelHostname: f.name + "-hostname"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newEmptyFixture(t)
			f.joins = func(*corev1.Node) bool { return false }
			f.hosts(simulator.Racks(1, 1))
			f.hostname(rack1)
			f.start()
			f.cluster("one", "rack-1")
			machine := f.machine("one", "cp-0", "rack-1", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
				machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
			})
			f.waitForProvisioned(machine)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-booted", Labels: label(f)}}
			f.create(node)
			f.Eventually(func() string {
				f.get(node)
				return node.Spec.ProviderID
			}).Should(Equal(machine.Spec.ProviderID))
		})
	}
}

func TestAmbiguousHostname(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.joins = func(*corev1.Node) bool { return false }
	f.hosts(simulator.Racks(1, 2))
	f.hostname(rack1)
	f.hostname(rack1Second)
	f.start()
	f.cluster("one", "rack-1")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-booted", Labels: map[string]string{corev1.LabelHostname: f.name + "-hostname"}}}
	f.create(node)
	machine := f.machine("one", "cp-0", "rack-1", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
	})
	f.waitForProvisioned(machine)
	f.Consistently(func() string {
		f.get(node)
		return node.Spec.ProviderID
	}).WithTimeout(time.Second).Should(BeEmpty())
}

// hostname sets a unique hostname of a host: the Nodes of all tests are in one cluster.
func (f *fixture) hostname(host string) {
	f.t.Helper()
	f.Eventually(func() error {
		found := f.host(host)
		found.Status.HardwareDetails.Hostname = f.name + "-hostname"
		return f.client.Status().Update(f.t.Context(), found)
	}).Should(Succeed())
}

func TestAmbiguousNodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	stray := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-stray", Labels: map[string]string{infrav1.NodeUUIDLabel: string(f.host(rack1).UID)}}}
	f.create(stray)
	machine := f.machine("one", "cp-0", "rack-1", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		// Until the machine's own Node exists, the other cannot be distinguished from it.
		machine.Spec.Bootstrap.DataSecretName = nil
	})
	f.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-cp-0", Labels: stray.Labels}})
	update(f, &clusterv1.Machine{ObjectMeta: f.meta("cp-0")}, func(machine *clusterv1.Machine) { machine.Spec.Bootstrap.DataSecretName = ptr.To("cp-0") })
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineAmbiguousNodeReason)).To(ContainSubstring("-stray"))
	f.Expect(f.client.Delete(t.Context(), stray)).To(Succeed())
	f.waitForProvisioned(machine)
}
