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
	"github.com/faultline-io/faultline/shared/integration"
)

const (
	blockMove   = "clusterctl.cluster.x-k8s.io/block-move"
	rack1       = "rack-1-host-001"
	rack1Second = "rack-1-host-002"
)

func TestReleaseRestoresHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	before := f.host(rack1)
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.deleteMachine(machine)
	after := f.host(rack1)
	f.Expect(after.Labels).To(Equal(before.Labels))
	f.Expect(after.Annotations).To(Equal(before.Annotations))
	f.Expect(after.OwnerReferences).To(BeEmpty())
	f.Expect(after.Status.Provisioning.State).To(Equal(bmov1alpha1.StateAvailable), "it was given up when it was clean, not before")
	before.Spec.Online = false
	f.Expect(after.Spec).To(Equal(before.Spec), "all but the power")
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

func (f *fixture) ownSecrets() {
	f.t.Helper()
	f.create(
		&corev1.Secret{ObjectMeta: f.meta("own-network"), StringData: map[string]string{"networkData": "links: []"}},
		&corev1.Secret{ObjectMeta: f.meta("own-meta"), StringData: map[string]string{"metaData": "rack: one"}},
	)
}

func TestDataOfHostIsKept(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.ownSecrets()
	f.hosts(ownData())
	f.start()
	f.cluster("one", "rack-1")
	before := f.host(rack1).Spec
	for _, name := range []string{"cp-0", "cp-1"} {
		machine := f.machine("one", name, "rack-1")
		host := f.waitForProvisioned(machine)
		f.Expect(host.Spec.NetworkData).To(Equal(before.NetworkData))
		f.Expect(host.Spec.UserData).NotTo(BeNil())
		f.deleteMachine(machine)
		after := f.host(rack1).Spec
		f.Expect(after.NetworkData).To(Equal(before.NetworkData), "the next machine needs it")
		f.Expect(after.MetaData).To(Equal(before.MetaData))
		f.Expect(after.UserData).To(BeNil(), "that was the machine's")
	}
}

func TestDataOfMachineIsRemovedWithoutStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	f.dataTemplate("data")
	machine := f.machine("one", "cp-0", "rack-1", usesData("data"))
	host := f.waitForProvisioned(machine)
	f.Expect(host.Spec.MetaData).NotTo(BeNil())
	f.stop()
	updateStatus(f, machine, func(machine *infrav1.Metal3Machine) { machine.Status = infrav1.Metal3MachineStatus{} })
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.start()
	f.waitForDeletion(machine)
	after := f.host(rack1).Spec
	f.Expect([]any{after.Image, after.UserData, after.MetaData, after.NetworkData}).To(HaveEach(BeNil()))
}

func TestHostThatMustNotBePoweredOff(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	layout := simulator.Racks(1, 1)
	layout.Change = func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true }
	f.hosts(layout)
	f.start()
	f.cluster("one")
	machine := f.machine("one", "cp-0", "")
	f.waitForProvisioned(machine)
	f.deleteMachine(machine)
	f.Expect(f.host(rack1).Spec.Online).To(BeTrue())
}

func TestDeleteIsAlwaysPossible(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fixture, *infrav1.Metal3Cluster, *infrav1.Metal3Machine){
		"host gone": func(f *fixture, _ *infrav1.Metal3Cluster, machine *infrav1.Metal3Machine) {
			host := f.host(rack1)
			f.Expect(f.client.Delete(f.t.Context(), host)).To(Succeed())
			f.waitForDeletion(host)
			f.waitForReason(machine, infrav1.Metal3MachineHostNotFoundReason)
		},
		"host taken over": func(f *fixture, _ *infrav1.Metal3Cluster, machine *infrav1.Metal3Machine) {
			update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) { host.Spec.ConsumerRef.Name = "other" })
			f.waitForReason(machine, infrav1.Metal3MachineHostNotFoundReason)
		},
		"bootstrap data and kubeconfig gone": func(f *fixture, _ *infrav1.Metal3Cluster, _ *infrav1.Metal3Machine) {
			for _, name := range []string{"cp-0", "one-kubeconfig"} {
				f.Expect(f.client.Delete(f.t.Context(), &corev1.Secret{ObjectMeta: f.meta(name)})).To(Succeed())
			}
		},
		"domain unlabelled": func(f *fixture, _ *infrav1.Metal3Cluster, machine *infrav1.Metal3Machine) {
			update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) { delete(host.Labels, infrav1.FailureDomainLabel) })
			f.Eventually(func() string { return f.get(machine).(*infrav1.Metal3Machine).Status.FailureDomain }).Should(BeEmpty())
		},
		// This also removes the failure domain, which the webhook would reject.
		"Metal3Cluster gone": func(f *fixture, infra *infrav1.Metal3Cluster, _ *infrav1.Metal3Machine) {
			f.Expect(f.client.Delete(f.t.Context(), infra)).To(Succeed())
			f.waitForCondition(infra, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterWaitingForMachinesReason)
			update(f, infra, func(infra *infrav1.Metal3Cluster) { infra.Finalizers = nil })
			f.waitForDeletion(infra)
		},
		"Cluster and Machine gone": func(f *fixture, _ *infrav1.Metal3Cluster, machine *infrav1.Metal3Machine) {
			f.Expect(f.client.Delete(f.t.Context(), &clusterv1.Cluster{ObjectMeta: f.meta("one")})).To(Succeed())
			f.Expect(f.client.Delete(f.t.Context(), &clusterv1.Machine{ObjectMeta: f.meta(machine.Name)})).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, simulator.Racks(1, 1))
			infra := f.cluster("one", "rack-1")
			machine := f.machine("one", "cp-0", "rack-1")
			f.waitForProvisioned(machine)
			spoil(f, infra, machine)
			f.deleteMachine(machine)
		})
	}
}

// Without its BMC Secret a host cannot be cleaned, and is not released while it may still run. The message of the machine
// describes how to release it, and that works.
func TestDeleteWithoutTheBMCSecret(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]func(*fixture, *bmov1alpha1.BareMetalHost){
		"Secret made again": func(f *fixture, host *bmov1alpha1.BareMetalHost) {
			f.create(&corev1.Secret{ObjectMeta: f.meta(host.Spec.BMC.CredentialsName), StringData: map[string]string{"username": "a", "password": "b"}})
		},
		"host deleted": func(f *fixture, host *bmov1alpha1.BareMetalHost) {
			f.Expect(f.client.Delete(f.t.Context(), host)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, simulator.Racks(1, 1))
			f.cluster("one", "rack-1")
			machine := f.machine("one", "cp-0", "rack-1")
			host := f.waitForProvisioned(machine)
			secret := &corev1.Secret{ObjectMeta: f.meta(host.Spec.BMC.CredentialsName)}
			f.Expect(f.client.Delete(t.Context(), secret)).To(Succeed())
			update(f, secret, func(secret *corev1.Secret) { secret.Finalizers = nil }) // the operator's finalizer
			f.Eventually(func() string { return f.host(rack1).Status.ErrorMessage }).ShouldNot(BeEmpty())
			f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
			f.Eventually(func(g Gomega) {
				g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
				g.Expect(integration.Describe(machine)).To(ContainSubstring("repair the host, or delete the BareMetalHost"))
			}).Should(Succeed())
			repair(f, host)
			f.waitForDeletion(machine)
		})
	}
}

func TestDeleteBeforeThereIsAHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 0))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForReason(machine, infrav1.FailureDomainWithoutHostsReason)
	f.deleteMachine(machine)
	f.hosts(simulator.Racks(1, 1))
	next := f.machine("one", "cp-1", "rack-1")
	f.waitForProvisioned(next)
}

func TestDeleteBeforeProvisioning(t *testing.T) {
	t.Parallel()
	f := newStaticFixture(t)
	f.hosts(simulator.Racks(1, 1))
	f.start()
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.waitForDeletion(machine)
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
}

func TestDeletionWaitsForDeprovisioning(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	key := client.ObjectKeyFromObject(f.waitForProvisioned(machine))
	f.sim.Fail(bmov1alpha1.StateDeprovisioning, key, "disk is stuck")
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(integration.Describe(machine)).To(ContainSubstring("disk is stuck"))
	}).Should(Succeed())
	f.Expect(f.host(rack1).Spec.ConsumerRef).NotTo(BeNil())
	f.sim.Heal(key)
	f.waitForDeletion(machine)
}

func TestMachineReportsHostError(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	key := client.ObjectKeyFromObject(f.host(rack1))
	f.sim.Fail(bmov1alpha1.StateProvisioning, key, "image is not an image")
	machine := f.machine("one", "cp-0", "rack-1")
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostErrorReason)).To(ContainSubstring("image is not an image"))
	f.sim.Heal(key)
	f.waitForProvisioned(machine)
}

func TestHostDeletedBeforeProvisioningIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1", usesData("later"))
	f.waitForCondition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataFailedReason)
	f.deleteHost(rack1)
	f.Eventually(func() string { return hostOf(f.get(machine).(*infrav1.Metal3Machine)) }).Should(Equal(rack1Second))
	f.dataTemplate("later")
	f.Expect(f.waitForProvisioned(machine).Name).To(Equal(rack1Second))
}

func reusable(f *fixture) func(*clusterv1.Machine, *infrav1.Metal3Machine) {
	f.create(&infrav1.Metal3MachineTemplate{ObjectMeta: f.meta("template"), Spec: infrav1.Metal3MachineTemplateSpec{
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

func TestNodeReuse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 2))
	f.cluster("one", "rack-1", "rack-2")
	ours := reusable(f)
	blocker := f.machine("one", "blocker", "rack-1")
	f.waitForProvisioned(blocker)
	first := f.machine("one", "first", "rack-1", ours)
	f.Expect(f.waitForProvisioned(first).Name).To(Equal("rack-1-host-002"))
	f.deleteMachine(blocker)
	f.deleteMachine(first)
	f.Expect(f.host("rack-1-host-002").Labels).To(HaveKeyWithValue(infrav1.NodeReuseLabel, "cp-kcp"))
	f.Expect(f.host("rack-1-host-002").Spec.ConsumerRef).To(HaveValue(Equal(corev1.ObjectReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Namespace: f.name, Name: "one",
	})), "no other machine claims it")
	elsewhere := f.machine("one", "elsewhere", "rack-2", ours)
	f.Expect(f.waitForProvisioned(elsewhere).Name).To(Equal("rack-2-host-001"), "the domain goes before reuse")
	worker := f.machine("one", "worker", "rack-1")
	f.Expect(f.waitForProvisioned(worker).Name).To(Equal(rack1), "others do not get it")
	second := f.machine("one", "second", "rack-1", ours)
	host := f.waitForProvisioned(second)
	f.Expect(host.Name).To(Equal("rack-1-host-002"))
	f.Expect(host.Labels).NotTo(HaveKey(infrav1.NodeReuseLabel))
	f.Expect(f.waitForReason(second, infrav1.Metal3MachineAssociateBareMetalHostViaNodeReuseSuccessReason)).To(BeEmpty())
}

func TestKeptHostsAreReleasedWithCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	infra := f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1", reusable(f))
	f.waitForProvisioned(machine)
	f.deleteMachine(machine)
	f.Expect(f.host(rack1).Spec.ConsumerRef).NotTo(BeNil())
	f.Expect(f.client.Delete(t.Context(), infra)).To(Succeed())
	f.waitForDeletion(infra)
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
	f.Expect(f.host(rack1).Labels).NotTo(HaveKey(infrav1.NodeReuseLabel))
}

func TestPauseForMove(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	cluster := &clusterv1.Cluster{ObjectMeta: f.meta("one")}
	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	f.waitForCondition(machine, clusterv1.PausedCondition, clusterv1.PausedReason)
	host := f.host(rack1)
	f.Expect(host.Annotations).To(HaveKeyWithValue(bmov1alpha1.PausedAnnotation, "metal3.io/capm3"))
	f.Expect(host.Annotations).NotTo(HaveKey(blockMove))
	f.Expect(host.Annotations[bmov1alpha1.StatusAnnotation]).To(And(ContainSubstring(`"state":"provisioned"`), ContainSubstring("operationHistory"),
		Not(ContainSubstring("nics"))), "the whole status but the hardware")
	secret := &corev1.Secret{ObjectMeta: f.meta(host.Spec.BMC.CredentialsName)}
	f.Expect(f.get(secret).GetLabels()).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "one"))
	f.Expect(f.host("rack-1-host-002").Annotations).NotTo(HaveKey(bmov1alpha1.PausedAnnotation), "free hosts are not paused")

	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil })
	f.waitForCondition(machine, clusterv1.PausedCondition, clusterv1.NotPausedReason)
	host = f.host(rack1)
	f.Expect(host.Annotations).NotTo(HaveKey(bmov1alpha1.PausedAnnotation))
	f.Expect(host.Annotations).NotTo(HaveKey(bmov1alpha1.StatusAnnotation))
	f.Expect(host.Annotations).To(HaveKey(blockMove))
	f.Expect(f.get(secret).GetLabels()).NotTo(HaveKey(clusterv1.ClusterNameLabel))
}

func TestHostPausedByUserCanBeMoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, bmov1alpha1.PausedAnnotation, "maintenance")
	})
	cluster := &clusterv1.Cluster{ObjectMeta: f.meta("one")}
	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	// The first reconcile after the Cluster is paused may precede the update of the host in the cache.
	f.Eventually(func() string { return f.waitForCondition(machine, clusterv1.PausedCondition, clusterv1.PausedReason) }).
		Should(ContainSubstring(rack1 + " was paused by another actor"))
	host := f.host(rack1)
	f.Expect(host.Annotations).NotTo(HaveKey(blockMove), "nothing holds up the move")
	f.Expect(host.Annotations[bmov1alpha1.StatusAnnotation]).To(ContainSubstring(`"state":"provisioned"`))
	secret := &corev1.Secret{ObjectMeta: f.meta(host.Spec.BMC.CredentialsName)}
	f.Expect(f.get(secret).GetLabels()).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "one"))

	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil })
	f.waitForCondition(machine, clusterv1.PausedCondition, clusterv1.NotPausedReason)
	host = f.host(rack1)
	f.Expect(host.Annotations).To(HaveKeyWithValue(bmov1alpha1.PausedAnnotation, "maintenance"))
	f.Expect(host.Annotations).To(HaveKey(blockMove), "the next move has to wait for the status of then")
	f.Expect(host.Annotations).NotTo(HaveKey(bmov1alpha1.StatusAnnotation))
	f.Expect(f.get(secret).GetLabels()).NotTo(HaveKey(clusterv1.ClusterNameLabel))
}

func TestPausedMachineClaimsNoHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	f.waitForCondition(machine, clusterv1.PausedCondition, clusterv1.PausedReason)
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
	update(f, machine, func(machine *infrav1.Metal3Machine) { machine.Annotations = nil })
	f.waitForProvisioned(machine)
}
