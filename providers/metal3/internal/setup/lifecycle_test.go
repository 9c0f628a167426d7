// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/testworld"
)

const (
	blockMove = "clusterctl.cluster.x-k8s.io/block-move"
	rack1     = "rack-1-host-001"
)

func TestReleasedHostIsAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	before := w.host(rack1)
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.remove(machine)
	after := w.host(rack1)
	w.Expect(after.Labels).To(Equal(before.Labels))
	w.Expect(after.Annotations).To(Equal(before.Annotations))
	w.Expect(after.OwnerReferences).To(BeEmpty())
	w.Expect(after.Status.Provisioning.State).To(Equal(bmov1alpha1.StateAvailable), "it was given up when it was clean, not before")
	before.Spec.Online = false
	w.Expect(after.Spec).To(Equal(before.Spec), "all but the power")
}

// ownData returns a layout whose hosts have their own metadata and network data, like hosts without DHCP.
func ownData() simulator.Layout {
	layout := simulator.Racks(1, 1)
	layout.Change = func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.NetworkData = &corev1.SecretReference{Name: "own-network", Namespace: host.Namespace}
		host.Spec.MetaData = &corev1.SecretReference{Name: "own-meta", Namespace: host.Namespace}
	}
	return layout
}

func (w *world) ownSecrets() {
	w.t.Helper()
	w.create(
		&corev1.Secret{ObjectMeta: w.meta("own-network"), StringData: map[string]string{"networkData": "links: []"}},
		&corev1.Secret{ObjectMeta: w.meta("own-meta"), StringData: map[string]string{"metaData": "rack: one"}},
	)
}

func TestNetworkDataAndMetadataOfTheHostsOwnOutliveItsMachine(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.ownSecrets()
	w.hosts(ownData())
	w.start()
	w.cluster("one", "rack-1")
	before := w.host(rack1).Spec
	for _, name := range []string{"cp-0", "cp-1"} {
		machine := w.machine("one", name, "rack-1")
		host := w.provisioned(machine)
		w.Expect(host.Spec.NetworkData).To(Equal(before.NetworkData))
		w.Expect(host.Spec.UserData).NotTo(BeNil())
		w.remove(machine)
		after := w.host(rack1).Spec
		w.Expect(after.NetworkData).To(Equal(before.NetworkData), "the next machine needs it")
		w.Expect(after.MetaData).To(Equal(before.MetaData))
		w.Expect(after.UserData).To(BeNil(), "that was the machine's")
	}
}

func TestDataThatTheMachineBroughtGoesWithItAlsoWhenItsStatusIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	w.dataTemplate("data")
	machine := w.machine("one", "cp-0", "rack-1", usesData("data"))
	host := w.provisioned(machine)
	w.Expect(host.Spec.MetaData).NotTo(BeNil())
	w.stop()
	updateStatus(w, machine, func(machine *infrav1.Metal3Machine) { machine.Status = infrav1.Metal3MachineStatus{} })
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.start()
	w.gone(machine)
	after := w.host(rack1).Spec
	w.Expect([]any{after.Image, after.UserData, after.MetaData, after.NetworkData}).To(HaveEach(BeNil()))
}

func TestHostThatMustNotBePoweredOff(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	layout := simulator.Racks(1, 1)
	layout.Change = func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true }
	w.hosts(layout)
	w.start()
	w.cluster("one")
	machine := w.machine("one", "cp-0", "")
	w.provisioned(machine)
	w.remove(machine)
	w.Expect(w.host(rack1).Spec.Online).To(BeTrue())
}

func TestDeleteIsAlwaysPossible(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*world, *infrav1.Metal3Cluster, *infrav1.Metal3Machine){
		"host gone": func(w *world, _ *infrav1.Metal3Cluster, machine *infrav1.Metal3Machine) {
			host := w.host(rack1)
			w.Expect(w.client.Delete(w.t.Context(), host)).To(Succeed())
			w.gone(host)
			w.waits(machine, infrav1.Metal3MachineHostNotFoundReason)
		},
		"host taken over": func(w *world, _ *infrav1.Metal3Cluster, machine *infrav1.Metal3Machine) {
			update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) { host.Spec.ConsumerRef.Name = "other" })
			w.waits(machine, infrav1.Metal3MachineHostNotFoundReason)
		},
		"bootstrap data and kubeconfig gone": func(w *world, _ *infrav1.Metal3Cluster, _ *infrav1.Metal3Machine) {
			for _, name := range []string{"cp-0", "one-kubeconfig"} {
				w.Expect(w.client.Delete(w.t.Context(), &corev1.Secret{ObjectMeta: w.meta(name)})).To(Succeed())
			}
		},
		"domain unlabelled": func(w *world, _ *infrav1.Metal3Cluster, machine *infrav1.Metal3Machine) {
			update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) { delete(host.Labels, infrav1.FailureDomainLabel) })
			w.Eventually(func() string { return w.get(machine).(*infrav1.Metal3Machine).Status.FailureDomain }).Should(BeEmpty())
		},
		// This also removes the failure domain, which the webhook would reject.
		"Metal3Cluster gone": func(w *world, infra *infrav1.Metal3Cluster, _ *infrav1.Metal3Machine) {
			w.Expect(w.client.Delete(w.t.Context(), infra)).To(Succeed())
			w.condition(infra, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterWaitingForMachinesReason)
			update(w, infra, func(infra *infrav1.Metal3Cluster) { infra.Finalizers = nil })
			w.gone(infra)
		},
		"Cluster and Machine gone": func(w *world, _ *infrav1.Metal3Cluster, machine *infrav1.Metal3Machine) {
			w.Expect(w.client.Delete(w.t.Context(), &clusterv1.Cluster{ObjectMeta: w.meta("one")})).To(Succeed())
			w.Expect(w.client.Delete(w.t.Context(), &clusterv1.Machine{ObjectMeta: w.meta(machine.Name)})).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simulator.Racks(1, 1))
			infra := w.cluster("one", "rack-1")
			machine := w.machine("one", "cp-0", "rack-1")
			w.provisioned(machine)
			spoil(w, infra, machine)
			w.remove(machine)
		})
	}
}

// Without its BMC Secret a host cannot be cleaned, and is not released while it may still run. The message of the machine
// describes how to release it, and that works.
func TestDeleteWithoutTheBMCSecret(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]func(*world, *bmov1alpha1.BareMetalHost){
		"Secret made again": func(w *world, host *bmov1alpha1.BareMetalHost) {
			w.create(&corev1.Secret{ObjectMeta: w.meta(host.Spec.BMC.CredentialsName), StringData: map[string]string{"username": "a", "password": "b"}})
		},
		"host deleted": func(w *world, host *bmov1alpha1.BareMetalHost) {
			w.Expect(w.client.Delete(w.t.Context(), host)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simulator.Racks(1, 1))
			w.cluster("one", "rack-1")
			machine := w.machine("one", "cp-0", "rack-1")
			host := w.provisioned(machine)
			secret := &corev1.Secret{ObjectMeta: w.meta(host.Spec.BMC.CredentialsName)}
			w.Expect(w.client.Delete(t.Context(), secret)).To(Succeed())
			update(w, secret, func(secret *corev1.Secret) { secret.Finalizers = nil }) // the operator's finalizer
			w.Eventually(func() string { return w.host(rack1).Status.ErrorMessage }).ShouldNot(BeEmpty())
			w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
			w.Eventually(func(g Gomega) {
				g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
				g.Expect(testworld.Describe(machine)).To(ContainSubstring("repair the host, or delete the BareMetalHost"))
			}).Should(Succeed())
			repair(w, host)
			w.gone(machine)
		})
	}
}

func TestDeleteBeforeThereIsAHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 0))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.waits(machine, infrav1.FailureDomainWithoutHostsReason)
	w.remove(machine)
	w.hosts(simulator.Racks(1, 1))
	next := w.machine("one", "cp-1", "rack-1")
	w.provisioned(next)
}

func TestDeleteBeforeTheHostHasBegun(t *testing.T) {
	t.Parallel()
	w := stillWorld(t)
	w.hosts(simulator.Racks(1, 1))
	w.start()
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.gone(machine)
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
}

func TestHostThatCannotBeDeprovisionedHoldsItsMachineUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	key := client.ObjectKeyFromObject(w.provisioned(machine))
	w.sim.Fail(bmov1alpha1.StateDeprovisioning, key, "disk is stuck")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(testworld.Describe(machine)).To(ContainSubstring("disk is stuck"))
	}).Should(Succeed())
	w.Expect(w.host(rack1).Spec.ConsumerRef).NotTo(BeNil())
	w.sim.Heal(key)
	w.gone(machine)
}

func TestErrorOfTheHostIsShownAndPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	key := client.ObjectKeyFromObject(w.host(rack1))
	w.sim.Fail(bmov1alpha1.StateProvisioning, key, "image is not an image")
	machine := w.machine("one", "cp-0", "rack-1")
	w.Expect(w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostErrorReason)).To(ContainSubstring("image is not an image"))
	w.sim.Heal(key)
	w.provisioned(machine)
}

func TestHostGoneBeforeAnythingRanIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 2))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1", usesData("later"))
	w.condition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataFailedReason)
	w.lose(rack1)
	w.Eventually(func() string { return hostOf(w.get(machine).(*infrav1.Metal3Machine)) }).Should(Equal(rack1Second))
	w.dataTemplate("later")
	w.Expect(w.provisioned(machine).Name).To(Equal(rack1Second))
}

func reusable(w *world) func(*clusterv1.Machine, *infrav1.Metal3Machine) {
	w.create(&infrav1.Metal3MachineTemplate{ObjectMeta: w.meta("template"), Spec: infrav1.Metal3MachineTemplateSpec{
		NodeReuse: ptr.To(true),
		Template: infrav1.Metal3MachineTemplateResource{Spec: infrav1.Metal3MachineSpec{
			Image: infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123"},
		}},
	}})
	return func(machine *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
		machine.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "KubeadmControlPlane", Name: "kcp", UID: "1", Controller: ptr.To(true),
		}}
		metal3.Annotations = map[string]string{
			clusterv1.TemplateClonedFromNameAnnotation: "template", clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.MachineTemplateGroupKind,
		}
	}
}

func TestReusedHostGoesToItsOwnerAndStaysInItsDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 2))
	w.cluster("one", "rack-1", "rack-2")
	ours := reusable(w)
	blocker := w.machine("one", "blocker", "rack-1")
	w.provisioned(blocker)
	first := w.machine("one", "first", "rack-1", ours)
	w.Expect(w.provisioned(first).Name).To(Equal("rack-1-host-002"))
	w.remove(blocker)
	w.remove(first)
	w.Expect(w.host("rack-1-host-002").Labels).To(HaveKeyWithValue(infrav1.NodeReuseLabel, "cp-kcp"))
	w.Expect(w.host("rack-1-host-002").Spec.ConsumerRef).To(HaveValue(Equal(corev1.ObjectReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Namespace: w.name, Name: "one",
	})), "nobody else takes it")
	elsewhere := w.machine("one", "elsewhere", "rack-2", ours)
	w.Expect(w.provisioned(elsewhere).Name).To(Equal("rack-2-host-001"), "the domain goes before reuse")
	worker := w.machine("one", "worker", "rack-1")
	w.Expect(w.provisioned(worker).Name).To(Equal(rack1), "others do not get it")
	second := w.machine("one", "second", "rack-1", ours)
	host := w.provisioned(second)
	w.Expect(host.Name).To(Equal("rack-1-host-002"))
	w.Expect(host.Labels).NotTo(HaveKey(infrav1.NodeReuseLabel))
	w.Expect(w.waits(second, infrav1.Metal3MachineAssociateBareMetalHostViaNodeReuseSuccessReason)).To(BeEmpty())
}

func TestHostsThatAreKeptGoWithTheirCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	infra := w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1", reusable(w))
	w.provisioned(machine)
	w.remove(machine)
	w.Expect(w.host(rack1).Spec.ConsumerRef).NotTo(BeNil())
	w.Expect(w.client.Delete(t.Context(), infra)).To(Succeed())
	w.gone(infra)
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
	w.Expect(w.host(rack1).Labels).NotTo(HaveKey(infrav1.NodeReuseLabel))
}

func TestPausedClusterPausesItsHostsForAMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 2))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	w.condition(machine, clusterv1.PausedCondition, clusterv1.PausedReason)
	host := w.host(rack1)
	w.Expect(host.Annotations).To(HaveKeyWithValue(bmov1alpha1.PausedAnnotation, "metal3.io/capm3"))
	w.Expect(host.Annotations).NotTo(HaveKey(blockMove))
	w.Expect(host.Annotations[bmov1alpha1.StatusAnnotation]).To(And(ContainSubstring(`"state":"provisioned"`), ContainSubstring("operationHistory"),
		Not(ContainSubstring("nics"))), "the whole status but the hardware")
	secret := &corev1.Secret{ObjectMeta: w.meta(host.Spec.BMC.CredentialsName)}
	w.Expect(w.get(secret).GetLabels()).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "one"))
	w.Expect(w.host("rack-1-host-002").Annotations).NotTo(HaveKey(bmov1alpha1.PausedAnnotation), "free hosts are nobody's")

	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil })
	w.condition(machine, clusterv1.PausedCondition, clusterv1.NotPausedReason)
	host = w.host(rack1)
	w.Expect(host.Annotations).NotTo(HaveKey(bmov1alpha1.PausedAnnotation))
	w.Expect(host.Annotations).NotTo(HaveKey(bmov1alpha1.StatusAnnotation))
	w.Expect(host.Annotations).To(HaveKey(blockMove))
	w.Expect(w.get(secret).GetLabels()).NotTo(HaveKey(clusterv1.ClusterNameLabel))
}

func TestHostThatAPersonPausedCanBeMovedAndStaysPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, bmov1alpha1.PausedAnnotation, "maintenance")
	})
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	// The first reconcile after the Cluster is paused may precede the update of the host in the cache.
	w.Eventually(func() string { return w.condition(machine, clusterv1.PausedCondition, clusterv1.PausedReason) }).
		Should(ContainSubstring(rack1 + " was paused by somebody else"))
	host := w.host(rack1)
	w.Expect(host.Annotations).NotTo(HaveKey(blockMove), "nothing holds up the move")
	w.Expect(host.Annotations[bmov1alpha1.StatusAnnotation]).To(ContainSubstring(`"state":"provisioned"`))
	secret := &corev1.Secret{ObjectMeta: w.meta(host.Spec.BMC.CredentialsName)}
	w.Expect(w.get(secret).GetLabels()).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "one"))

	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil })
	w.condition(machine, clusterv1.PausedCondition, clusterv1.NotPausedReason)
	host = w.host(rack1)
	w.Expect(host.Annotations).To(HaveKeyWithValue(bmov1alpha1.PausedAnnotation, "maintenance"))
	w.Expect(host.Annotations).To(HaveKey(blockMove), "the next move has to wait for the status of then")
	w.Expect(host.Annotations).NotTo(HaveKey(bmov1alpha1.StatusAnnotation))
	w.Expect(w.get(secret).GetLabels()).NotTo(HaveKey(clusterv1.ClusterNameLabel))
}

func TestPausedMachineTakesNoHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	w.condition(machine, clusterv1.PausedCondition, clusterv1.PausedReason)
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
	update(w, machine, func(machine *infrav1.Metal3Machine) { machine.Annotations = nil })
	w.provisioned(machine)
}
