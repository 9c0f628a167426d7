// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package workload_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/blang/semver/v4"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kubeadm "sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/workload"
)

func TestControlPlaneMachineBecomesNode(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	w.provisioned("blue", "cp-0", controlPlane)
	w.eventuallyReady("blue", "cp-0")

	c := w.workload("blue")
	node := &corev1.Node{}
	w.Expect(c.Get(t.Context(), client.ObjectKey{Name: "cp-0"}, node)).To(Succeed())
	w.Expect(node.Spec.ProviderID).To(Equal("test://cp-0"))
	w.Expect(node.Status.NodeInfo.KubeletVersion).To(Equal(version))
	w.Expect(node.Status.Addresses).To(ContainElement(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}))
	w.Expect(node.Labels).To(HaveKey("node-role.kubernetes.io/control-plane"))
	w.Expect(node.Spec.Taints).To(ConsistOf(corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}))

	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		pod := &corev1.Pod{}
		w.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: component + "-cp-0"}, pod)).To(Succeed())
		w.Expect(pod.Labels).To(Equal(map[string]string{"component": component, "tier": "control-plane"}))
		w.Expect(pod.Annotations).To(HaveKey(corev1.MirrorPodAnnotationKey))
		w.Expect(pod.Spec.NodeName).To(Equal("cp-0"))
		w.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
	}
	names, leader, err := w.members("blue", "cp-0")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(names).To(ConsistOf("cp-0"))
	w.Expect(leader).To(Equal("cp-0"))
}

func TestNodeTakesTheHostnameOfItsInfrastructure(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	w.provisioned("blue", "cp-0", controlPlane, func(m *clusterv1.Machine) {
		m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineHostName, Address: "host-17"}}
	})
	w.eventuallyReady("blue", "host-17")
	names, _, err := w.members("blue", "host-17")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(names).To(ConsistOf("host-17"))
}

func TestMachinesJoinInitializedControlPlane(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	// The worker is ready to boot first, and has to wait.
	w.provisioned("blue", "worker-0")
	w.provisioned("blue", "cp-0", controlPlane)
	w.eventuallyReady("blue", "cp-0", "worker-0")
	w.provisioned("blue", "cp-1", controlPlane)
	w.provisioned("blue", "cp-2", controlPlane)
	w.eventuallyReady("blue", "cp-0", "cp-1", "cp-2", "worker-0")
	for _, node := range []string{"cp-0", "cp-1", "cp-2"} {
		names, leader, err := w.members("blue", node)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(names).To(ConsistOf("cp-0", "cp-1", "cp-2"))
		w.Expect(leader).To(Equal("cp-0"))
	}
}

func TestMachineBootsWhenPrerequisitesExist(t *testing.T) {
	w := newFixture(t)
	w.createClusterOnly("blue")
	m := w.provisioned("blue", "cp-0", controlPlane, func(m *clusterv1.Machine) {
		m.Spec.Bootstrap.DataSecretName = nil
		m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "TestConfig", Name: "cp-0"}
	})
	_, err := w.simulator.ClientFor(w.namespace, "blue")
	w.Expect(err).To(MatchError(ContainSubstring("no API server of cluster " + w.namespace + "/blue is running")))

	m.Spec.Bootstrap.DataSecretName = ptr.To("cp-0")
	w.Expect(w.client.Update(t.Context(), m)).To(Succeed())
	w.createAuthorities("blue")
	w.eventuallyReady("blue", "cp-0")
}

func TestAPIServerAnswersBeforeTheFirstMachine(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	w.eventuallyReady("blue")
	c := &kubeadm.Workload{Client: w.workload("blue")}
	w.Expect(c.HasKubeadmConfig(t.Context())).To(BeFalse())
	w.Expect(c.Client.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{})).To(Succeed())
}

// unprovisioned marks a machine as one whose infrastructure waits for the machine's node.
func unprovisioned(m *clusterv1.Machine) {
	m.Spec.ProviderID, m.Status.Initialization.InfrastructureProvisioned, m.Status.Addresses = "", nil, nil
}

func TestPowerOnBootsMachine(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	w.provisioned("blue", "cp-0", controlPlane, unprovisioned)
	w.provisioned("blue", "cp-1", controlPlane, unprovisioned)
	as := workload.Identity{NodeName: "node-0", ProviderID: "metal://host-0", Labels: map[string]string{"host": "0"}}
	w.Eventually(w.simulator.PowerOn).WithArguments(t.Context(), w.key("cp-0"), as).Should(Succeed())
	w.eventuallyReady("blue", "node-0")
	node := &corev1.Node{}
	w.Expect(w.workload("blue").Get(t.Context(), client.ObjectKey{Name: "node-0"}, node)).To(Succeed())
	w.Expect(node.Spec.ProviderID).To(Equal("metal://host-0"))
	w.Expect(node.Labels).To(HaveKeyWithValue("host", "0"))

	// Powered off before the next reconcile, cp-1 never appears.
	w.Expect(w.simulator.PowerOff(t.Context(), w.key("cp-1"))).To(Succeed())
	w.Expect(w.simulator.PowerOff(t.Context(), w.key("stranger"))).To(Succeed())
	w.Expect(w.simulator.PowerOff(t.Context(), w.key("cp-0"))).To(Succeed())
	_, err := w.simulator.ClientFor(w.namespace, "blue")
	w.Expect(err).To(HaveOccurred(), "its only control plane has no power")
	w.Expect(w.simulator.PowerOn(t.Context(), w.key("cp-0"), as)).To(Succeed())
	w.eventuallyReady("blue", "node-0")
	w.Expect(w.simulator.PowerOn(t.Context(), w.key("stranger"), as)).To(MatchError(ContainSubstring("stranger")))
}

func TestDeletedMachineLeavesNothing(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	leader := w.provisioned("blue", "cp-0", controlPlane, kept)
	w.eventuallyReady("blue", "cp-0")
	w.provisioned("blue", "cp-1", controlPlane)
	other := w.provisioned("blue", "cp-2", controlPlane)
	w.eventuallyReady("blue", "cp-0", "cp-1", "cp-2")

	// The infrastructure is deleted, then the Machine.
	w.delete(leader)
	w.loseInfrastructure(leader)
	w.eventuallyReady("blue", "cp-1", "cp-2")
	names, elected, err := w.members("blue", "cp-1")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(names).To(ConsistOf("cp-1", "cp-2"))
	w.Expect(names).To(ContainElement(elected))
	w.Expect(w.etcdAnswers("blue", "cp-0")).To(MatchError(ContainSubstring("internal error")))

	// The Machine is deleted immediately.
	w.delete(other)
	w.eventuallyReady("blue", "cp-1")
	names, elected, err = w.members("blue", "cp-1")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(names).To(ConsistOf("cp-1"))
	w.Expect(elected).To(Equal("cp-1"))
	pods := &corev1.PodList{}
	w.Expect(w.workload("blue").List(t.Context(), pods)).To(Succeed())
	w.Expect(pods.Items).To(HaveLen(4))
	for _, pod := range pods.Items {
		w.Expect(pod.Spec.NodeName).To(Equal("cp-1"))
	}
}

func TestNodeStopsWhenInfrastructureIsDeleted(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	w.provisioned("blue", "cp-0", controlPlane)
	m := w.provisioned("blue", "worker-0")
	w.eventuallyReady("blue", "cp-0", "worker-0")
	w.loseInfrastructure(m)
	w.Eventually(func() (map[string]corev1.ConditionStatus, error) { return w.nodes("blue") }).
		Should(HaveKeyWithValue("worker-0", corev1.ConditionUnknown))
}

func TestClustersAreIsolated(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	w.createCluster("green")
	w.provisioned("blue", "blue-0", controlPlane)
	w.provisioned("green", "green-0", controlPlane)
	w.eventuallyReady("blue", "blue-0")
	w.eventuallyReady("green", "green-0")
	// Each serves with its own authority.
	config := w.restConfig("blue")
	config.Host = w.restConfig("green").Host
	c, err := client.New(config, client.Options{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(c.List(t.Context(), &corev1.NodeList{})).To(MatchError(ContainSubstring("certificate signed by unknown authority")))
}

func TestDeletedClusterReleasesPort(t *testing.T) {
	w := newFixture(t)
	cluster := w.createCluster("blue")
	m := w.provisioned("blue", "cp-0", controlPlane)
	w.eventuallyReady("blue", "cp-0")
	w.Expect(bind(cluster)).NotTo(Succeed())

	w.delete(cluster)
	w.Eventually(func() error { return bind(cluster) }).Should(Succeed())

	// Another cluster of the same name at the same endpoint starts from scratch.
	w.delete(m)
	again := w.createClusterOnly("blue")
	w.Expect(again.Spec.ControlPlaneEndpoint).To(Equal(cluster.Spec.ControlPlaneEndpoint))
	w.provisioned("blue", "cp-9", controlPlane)
	w.eventuallyReady("blue", "cp-9")
}

// bind succeeds if no program has the cluster's port.
func bind(cluster *clusterv1.Cluster) error {
	listener, err := net.Listen("tcp", cluster.Spec.ControlPlaneEndpoint.String())
	if err != nil {
		return err
	}
	return listener.Close()
}

func TestRestartRestoresClusters(t *testing.T) {
	w := newFixture(t)
	w.createCluster("green") // takes the first port
	w.createCluster("blue")
	for _, name := range []string{"cp-0", "cp-1", "worker-0"} {
		change := []func(*clusterv1.Machine){func(m *clusterv1.Machine) { m.Status.NodeRef.Name = name }}
		if name != "worker-0" {
			change = append(change, controlPlane)
		}
		w.provisioned("blue", name, change...)
	}
	w.eventuallyReady("blue", "cp-0", "cp-1", "worker-0")
	_, before, err := w.simulator.Endpoint(w.namespace, "blue")
	w.Expect(err).NotTo(HaveOccurred())

	w.stop()
	w.start()
	_, other, err := w.simulator.Endpoint(w.namespace, "red")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(other).NotTo(Equal(before))
	_, after, err := w.simulator.Endpoint(w.namespace, "blue")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(after).To(Equal(before))
	w.eventuallyReady("blue", "cp-0", "cp-1", "worker-0")
}

func TestStoppedNodes(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		w.provisioned("blue", name, controlPlane)
	}
	w.eventuallyReady("blue", "cp-0", "cp-1", "cp-2")
	_, leader, err := w.members("blue", "cp-0")
	w.Expect(err).NotTo(HaveOccurred())
	second, third := "cp-1", "cp-2"
	switch leader {
	case "cp-1":
		second = "cp-0"
	case "cp-2":
		third = "cp-0"
	}

	w.Expect(w.simulator.SetNodeReady(t.Context(), w.key(leader), false)).To(Succeed())
	nodes, err := w.nodes("blue")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(nodes).To(HaveKeyWithValue(leader, corev1.ConditionUnknown))
	w.Expect(w.etcdAnswers("blue", leader)).To(MatchError(ContainSubstring("internal error")))
	w.Expect(w.etcdAnswers("blue", second)).To(Succeed())
	names, successor, err := w.members("blue", second)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(names).To(ConsistOf("cp-0", "cp-1", "cp-2"))
	w.Expect([]string{second, third}).To(ContainElement(successor))

	// Stopping a second one loses the quorum, and a new machine has to wait.
	w.Expect(w.simulator.SetNodeReady(t.Context(), w.key(second), false)).To(Succeed())
	_, err = w.nodes("blue")
	w.Expect(err).To(MatchError(ContainSubstring("no API server")))
	w.provisioned("blue", "worker-0")

	w.Expect(w.simulator.SetNodeReady(t.Context(), w.key(leader), true)).To(Succeed())
	w.Expect(w.simulator.SetNodeReady(t.Context(), w.key(second), true)).To(Succeed())
	w.eventuallyReady("blue", "cp-0", "cp-1", "cp-2", "worker-0")

	w.Expect(w.simulator.SetNodeReady(t.Context(), w.key("nobody"), true)).To(MatchError(ContainSubstring("has no node")))
}

func TestLeaderElectionAfterRemoval(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	w.provisioned("blue", "cp-0", controlPlane)
	w.provisioned("blue", "cp-1", controlPlane)
	w.eventuallyReady("blue", "cp-0", "cp-1")
	c, err := w.etcd("blue", "cp-0")
	w.Expect(err).NotTo(HaveOccurred())
	defer func() { w.Expect(c.Close()).To(Succeed()) }()
	_, leader, err := w.members("blue", "cp-0")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(c.RemoveMember(t.Context(), c.LeaderID)).To(Succeed())
	rest := map[string]string{"cp-0": "cp-1", "cp-1": "cp-0"}[leader]
	w.Eventually(func(g Gomega) {
		names, elected, err := w.members("blue", rest)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names).To(ConsistOf(rest))
		g.Expect(elected).To(Equal(rest))
	}).Should(Succeed())
}

func TestControlPlaneProviderObjectsExist(t *testing.T) {
	w := newFixture(t)
	w.createCluster("blue")
	w.provisioned("blue", "cp-0", controlPlane)
	w.eventuallyReady("blue", "cp-0")
	c := &kubeadm.Workload{Client: w.workload("blue")}
	w.Expect(c.HasKubeadmConfig(t.Context())).To(BeTrue())
	next := semver.MustParse("1.37.1")
	w.Expect(c.EnsureKubeadmPermissions(t.Context(), next)).To(Succeed())
	w.Expect(c.UpdateClusterConfiguration(t.Context(), next, c.UpdateImageRepositoryInKubeadmConfigMap("example.test"))).To(Succeed())
	kcp := &controlplanev1.KubeadmControlPlane{}
	kcp.Spec.Version = "v1.37.1"
	kcp.Spec.KubeadmConfigSpec.ClusterConfiguration = bootstrapv1.ClusterConfiguration{FeatureGates: map[string]bool{"x": true}}
	w.Expect(c.UpdateKubeProxyImageInfo(t.Context(), kcp)).To(Succeed())
	w.Expect(c.UpdateCoreDNS(t.Context(), kcp)).To(Succeed())
	config := &corev1.ConfigMap{}
	w.Expect(c.Client.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"}, config)).To(Succeed())
	w.Expect(config.Data["ClusterConfiguration"]).To(And(ContainSubstring("kubernetesVersion: v1.37.1"), ContainSubstring("imageRepository: example.test")))
}

func TestEndpointsAreReserved(t *testing.T) {
	w := newFixture(t)
	first := w.options.PortRange.First
	address, blue, err := w.simulator.Endpoint(w.namespace, "blue")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(address).To(Equal(host))
	_, same, err := w.simulator.Endpoint(w.namespace, "blue")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(same).To(Equal(blue))

	// A port that another program has is skipped.
	taken, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(first+1)))
	w.Expect(err).NotTo(HaveOccurred())
	defer func() { w.Expect(taken.Close()).To(Succeed()) }()
	_, green, err := w.simulator.Endpoint(w.namespace, "green")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(green).To(Equal(first + 2))

	// A reserved endpoint closes connections.
	connection, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(blue)))
	w.Expect(err).NotTo(HaveOccurred())
	_, err = connection.Read(make([]byte, 1))
	w.Expect(err).To(HaveOccurred())
}

func TestEndpointsRunOut(t *testing.T) {
	w := newFixture(t, func(o *workload.Options) { o.PortRange.Last = o.PortRange.First })
	_, _, err := w.simulator.Endpoint(w.namespace, "blue")
	w.Expect(err).NotTo(HaveOccurred())
	_, _, err = w.simulator.Endpoint(w.namespace, "green")
	w.Expect(err).To(MatchError(ContainSubstring("no port is free")))
}

func TestReservationOutlivesOtherClusters(t *testing.T) {
	w := newFixture(t)
	// The Secret enqueues a Cluster that does not exist yet.
	_, port, err := w.simulator.Endpoint(w.namespace, "blue")
	w.Expect(err).NotTo(HaveOccurred())
	w.createAuthorities("blue")
	w.createCluster("green")
	w.provisioned("green", "green-0", controlPlane)
	w.eventuallyReady("green", "green-0")
	_, same, err := w.simulator.Endpoint(w.namespace, "blue")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(same).To(Equal(port))
}

func TestExternalClusterIsIgnored(t *testing.T) {
	w := newFixture(t)
	w.createAuthorities("far")
	far := &clusterv1.Cluster{ObjectMeta: w.meta("far")}
	far.Spec.InfrastructureRef = infrastructure("TestCluster", "far")
	far.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "192.0.2.7", Port: int32(w.options.PortRange.First)}
	w.create(far)
	w.provisioned("far", "far-0", controlPlane)
	w.createCluster("near")
	w.provisioned("near", "near-0", controlPlane)
	w.eventuallyReady("near", "near-0")
	_, err := w.simulator.ClientFor(w.namespace, "far")
	w.Expect(err).To(MatchError(ContainSubstring("is not simulated")))
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for name, options := range map[string]workload.Options{
		"ports upside down": {PortRange: workload.PortRange{First: 200, Last: 100}},
		"no such port":      {PortRange: workload.PortRange{First: 60000, Last: 70000}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := workload.New(t.Context(), &rest.Config{}, options)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("is not a range")))
		})
	}
}
