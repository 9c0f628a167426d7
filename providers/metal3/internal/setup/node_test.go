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

func (w *world) node(machine string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + machine}}
}

func TestCloudProviderGivesNodesTheirProviderID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.clusterWith("one", func(infra *infrav1.Metal3Cluster) { infra.Spec.CloudProviderEnabled = ptr.To(true) }, "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.Expect(w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)).NotTo(BeEmpty())
	node := w.node("cp-0")
	w.Eventually(func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(node), node) }).Should(Succeed())
	w.Expect(node.Spec.ProviderID).To(BeEmpty(), "it is not ours to set")
	update(w, node, func(node *corev1.Node) { node.Spec.ProviderID = "metal3://" + w.name + "/" + rack1 + "/cp-0" })
	w.provisioned(machine)
	w.Expect(machine.Spec.ProviderID).To(Equal(node.Spec.ProviderID))
}

func TestNodeThatJoinsLateWakesItsMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	w.create(w.node("cp-0")) // a kubelet that has not set its labels yet
	machine := w.machine("one", "cp-0", "rack-1")
	w.Eventually(func() string {
		return w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)
	}).Should(ContainSubstring("metal3.io/uuid="))
	update(w, w.node("cp-0"), func(node *corev1.Node) {
		metav1.SetMetaDataLabel(&node.ObjectMeta, infrav1.NodeUUIDLabel, string(w.host(rack1).UID))
	})
	w.provisioned(machine)
}

func TestMachineWaitsForItsClusterToBeReachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	secret := &corev1.Secret{ObjectMeta: w.meta("one-kubeconfig")}
	w.Expect(w.client.Delete(t.Context(), secret)).To(Succeed())
	w.stop()
	w.start()
	machine := w.machine("one", "cp-0", "rack-1")
	w.Expect(w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)).To(ContainSubstring("connection"))
	w.create(&corev1.Secret{ObjectMeta: w.meta("one-kubeconfig"), Data: map[string][]byte{"value": kubeconfig}})
	w.provisioned(machine)
}

func TestMachineWithoutBootstrapConfigNeedsNoNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
	})
	w.provisioned(machine)
	w.Expect(machine.Spec.ProviderID).To(HaveSuffix("/" + rack1 + "/cp-0"))
}

func TestNodeOfAMachineWithoutBootstrapConfigGetsItsProviderID(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]func(*world) map[string]string{
		"by the UID of its host": func(w *world) map[string]string {
			return map[string]string{infrav1.NodeUUIDLabel: string(w.host(rack1).UID)}
		},
		"by its hostname": func(w *world) map[string]string {
			return map[string]string{corev1.LabelHostname: w.name + "-hostname"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t)
			w.joins = func(*corev1.Node) bool { return false }
			w.hosts(simulator.Racks(1, 1))
			w.hostname(rack1)
			w.start()
			w.cluster("one", "rack-1")
			machine := w.machine("one", "cp-0", "rack-1", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
				machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
			})
			w.provisioned(machine)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-booted", Labels: label(w)}}
			w.create(node)
			w.Eventually(func() string {
				w.get(node)
				return node.Spec.ProviderID
			}).Should(Equal(machine.Spec.ProviderID))
		})
	}
}

func TestNodeWhoseHostnameTwoHostsHaveIsNotGuessedAt(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.joins = func(*corev1.Node) bool { return false }
	w.hosts(simulator.Racks(1, 2))
	w.hostname(rack1)
	w.hostname(rack1Second)
	w.start()
	w.cluster("one", "rack-1")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-booted", Labels: map[string]string{corev1.LabelHostname: w.name + "-hostname"}}}
	w.create(node)
	machine := w.machine("one", "cp-0", "rack-1", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
	})
	w.provisioned(machine)
	w.Consistently(func() string {
		w.get(node)
		return node.Spec.ProviderID
	}).WithTimeout(time.Second).Should(BeEmpty())
}

// hostname sets a unique hostname of a host: the Nodes of all tests are in one cluster.
func (w *world) hostname(host string) {
	w.t.Helper()
	w.Eventually(func() error {
		found := w.host(host)
		found.Status.HardwareDetails.Hostname = w.name + "-hostname"
		return w.client.Status().Update(w.t.Context(), found)
	}).Should(Succeed())
}

func TestTwoNodesOfOneHostAreNotGuessedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	stray := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-stray", Labels: map[string]string{infrav1.NodeUUIDLabel: string(w.host(rack1).UID)}}}
	w.create(stray)
	machine := w.machine("one", "cp-0", "rack-1", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		// Until the machine's own Node exists, the other cannot be distinguished from it.
		machine.Spec.Bootstrap.DataSecretName = nil
	})
	w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-cp-0", Labels: stray.Labels}})
	update(w, &clusterv1.Machine{ObjectMeta: w.meta("cp-0")}, func(machine *clusterv1.Machine) { machine.Spec.Bootstrap.DataSecretName = ptr.To("cp-0") })
	w.Expect(w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineAmbiguousNodeReason)).To(ContainSubstring("-stray"))
	w.Expect(w.client.Delete(t.Context(), stray)).To(Succeed())
	w.provisioned(machine)
}
