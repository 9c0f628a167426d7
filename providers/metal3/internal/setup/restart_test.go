// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// owners returns the number of hosts that name the machine as consumer.
func (w *world) owners(machine string) int {
	w.t.Helper()
	placements, err := simulator.Placements(w.t.Context(), w.client, w.name)
	w.Expect(err).NotTo(HaveOccurred())
	n := 0
	for _, p := range placements {
		if p.Consumer == machine {
			n++
		}
	}
	return n
}

func TestRestartBetweenIntentionAndClaim(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hosts(simulator.Racks(1, 2))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.intends(machine, "rack-1-host-002")
	w.start()
	w.provisioned(machine)
	w.Expect(w.owners("cp-0")).To(Equal(1))
}

func TestRestartBetweenIntentionAndClaimOfAHostThatAnotherHasTaken(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hosts(simulator.Racks(1, 2))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.intends(machine, rack1)
	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: w.name, Name: "other"}
	})
	w.start()
	w.Expect(w.provisioned(machine).Name).To(Equal("rack-1-host-002"))
	w.Expect(w.owners("other")).To(Equal(1))
}

func TestRestartAfterTheClaim(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hosts(simulator.Racks(1, 2))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.intends(machine, "rack-1-host-002")
	update(w, w.host("rack-1-host-002"), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "Metal3Machine", Namespace: w.name, Name: "cp-0"}
	})
	w.start()
	w.Expect(w.provisioned(machine).Name).To(Equal("rack-1-host-002"), "the claim of before, though of an older version, is kept")
	w.Expect(w.owners("cp-0")).To(Equal(1))
}

// upstreamOwns makes the machine an owner of the host, in addition to others, and labels the host's BMC Secret with the cluster,
// as upstream does.
func (w *world) upstreamOwns(machine *infrav1.Metal3Machine, others ...metav1.OwnerReference) *corev1.Secret {
	w.t.Helper()
	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.OwnerReferences = append(others, metav1.OwnerReference{
			APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "Metal3Machine", Name: machine.Name, UID: machine.UID,
		})
	})
	secret := &corev1.Secret{ObjectMeta: w.meta(w.host(rack1).Spec.BMC.CredentialsName)}
	update(w, secret, func(secret *corev1.Secret) {
		metav1.SetMetaDataLabel(&secret.ObjectMeta, clusterv1.ClusterNameLabel, "one")
	})
	return secret
}

func TestHostThatAFormerReleaseOrUpstreamClaimedIsAsIfClaimedToday(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.stop()
	somebody := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Inventory", Name: "racks", UID: "1", Controller: ptr.To(true)}
	secret := w.upstreamOwns(machine, somebody)
	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) { delete(host.Annotations, clusterctlv1.BlockMoveAnnotation) })
	w.start()
	w.Eventually(func() []metav1.OwnerReference { return w.host(rack1).OwnerReferences }).Should(ConsistOf(somebody))
	w.Expect(w.host(rack1).Annotations).To(HaveKey(clusterctlv1.BlockMoveAnnotation), "the first clusterctl move waits until the host is paused")
	w.Expect(w.get(secret).GetLabels()).NotTo(HaveKey(clusterv1.ClusterNameLabel), "the Secret of a BMC is the cluster's only while it is moved")
}

func TestHostOfAMachineThatIsDeletedWhenUpstreamIsTakenOverIsReleasedAsOthersAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.stop()
	secret := w.upstreamOwns(machine)
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.start()
	w.gone(machine)
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
	w.Expect(w.host(rack1).OwnerReferences).To(BeEmpty())
	w.Expect(w.get(secret).GetLabels()).NotTo(HaveKey(clusterv1.ClusterNameLabel))
}

// A host that upstream kept for the next machine of its owner (spec.nodeReuse) when it was replaced.
func TestHostThatUpstreamWasKeepingGoesToTheNextMachineOfItsOwner(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*bmov1alpha1.BareMetalHost){
		"it had only begun to deprovision the host": func(host *bmov1alpha1.BareMetalHost) {
			host.Spec.Image, host.Spec.UserData = nil, nil
		},
		"it had not let the machine go yet": func(host *bmov1alpha1.BareMetalHost) {
			host.Spec.Image, host.Spec.UserData = nil, nil
			host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Namespace: host.Namespace, Name: "one"}
			host.Labels[infrav1.NodeReuseLabel] = "cp-kcp"
			host.OwnerReferences = nil
			delete(host.Labels, clusterv1.ClusterNameLabel)
			delete(host.Annotations, clusterctlv1.BlockMoveAnnotation)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simulator.Racks(1, 1))
			w.cluster("one", "rack-1")
			ours := reusable(w)
			first := w.machine("one", "first", "rack-1", ours)
			w.provisioned(first)
			w.stop()
			w.upstreamOwns(first)
			w.Expect(w.client.Delete(t.Context(), first)).To(Succeed())
			update(w, w.host(rack1), leave)
			w.start()
			w.gone(first)
			worker := w.machine("one", "worker", "rack-1")
			w.waits(worker, infrav1.NoCapacityReason)
			host := w.provisioned(w.machine("one", "second", "rack-1", ours))
			w.Expect(host.Name).To(Equal(rack1))
			w.Expect(host.Labels).NotTo(HaveKey(infrav1.NodeReuseLabel))
		})
	}
}

func TestHostWithAControllerOfItsOwnIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Inventory", Name: "racks", UID: "1", Controller: ptr.To(true)}}
	})
	w.cluster("one", "rack-1")
	w.Expect(w.provisioned(w.machine("one", "cp-0", "rack-1")).OwnerReferences).To(HaveLen(1))
}

func TestDeleteAfterAClaimThatWasNeverRecorded(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hosts(simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.intends(machine, rack1)
	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: w.name, Name: "cp-0"}
		host.Spec.Image = &bmov1alpha1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123"}
	})
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.start()
	w.gone(machine)
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
}

// The API server is not called for such a name.
func TestAMachineWhoseHostAnnotationIsNoNameGetsAHostAndCanBeDeleted(t *testing.T) {
	t.Parallel()
	for name, annotated := range map[string]string{"a path": "..", "a name that does not fit into a URL": "50%"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t)
			w.hosts(simulator.Racks(1, 1))
			w.cluster("one", "rack-1")
			deleted, machine := w.machine("one", "cp-0", "rack-1"), w.machine("one", "cp-1", "rack-1")
			w.intends(deleted, annotated)
			w.intends(machine, annotated)
			w.Expect(w.client.Delete(t.Context(), deleted)).To(Succeed())
			w.start()
			w.gone(deleted)
			w.provisioned(machine)
		})
	}
}

// A manager that stops in any state of the host continues from there.
func TestRestartInEveryStateOfTheHost(t *testing.T) {
	t.Parallel()
	for _, state := range []bmov1alpha1.ProvisioningState{bmov1alpha1.StateAvailable, bmov1alpha1.StateProvisioning} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simulator.Racks(1, 2))
			w.cluster("one", "rack-1")
			key := client.ObjectKeyFromObject(w.host(rack1))
			w.sim.Stick(state, key)
			machine := w.machine("one", "cp-0", "rack-1")
			w.Eventually(func() bool {
				host := w.host(rack1)
				return host.Spec.ConsumerRef != nil && host.Status.Provisioning.State == state
			}).Should(BeTrue())
			w.stop()
			w.sim.Heal(key)
			w.start()
			w.Expect(w.provisioned(machine).Name).To(Equal(rack1))
			w.Expect(w.owners("cp-0")).To(Equal(1))
		})
	}
}

func TestRestartInTheMiddleOfADelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	key := client.ObjectKeyFromObject(w.provisioned(machine))
	w.sim.Stick(bmov1alpha1.StateDeprovisioning, key)
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.Eventually(func() bmov1alpha1.ProvisioningState { return w.host(rack1).Status.Provisioning.State }).Should(Equal(bmov1alpha1.StateDeprovisioning))
	w.stop()
	w.sim.Heal(key)
	w.Eventually(func() bmov1alpha1.ProvisioningState { return w.host(rack1).Status.Provisioning.State }).Should(Equal(bmov1alpha1.StateAvailable))
	w.start()
	w.gone(machine)
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
}

func TestRestartWhileMachinesWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	first := w.machine("one", "first", "rack-1")
	w.provisioned(first)
	second := w.machine("one", "second", "rack-1")
	w.waits(second, infrav1.NoCapacityReason)
	w.stop()
	w.start()
	w.remove(first)
	w.provisioned(second)
}

// clusterctl creates the objects again in another management cluster: the UIDs of owners change, and hosts have no status.
func TestMovedMachineKeepsItsHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 2))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.stop()
	update(w, machine, func(machine *infrav1.Metal3Machine) { machine.Finalizers = nil })
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.gone(machine)
	w.Expect(w.client.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: w.meta("cp-0")})).To(Succeed())
	moved := w.machine("one", "cp-0", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations, metal3.Spec = machine.Annotations, machine.Spec
	})
	w.start()
	w.Expect(w.provisioned(moved).Name).To(Equal(rack1))
	w.Expect(moved.Spec.ProviderID).To(Equal(machine.Spec.ProviderID))
	w.Expect(ptr.Deref(moved.Status.Initialization.Provisioned, false)).To(BeTrue())
	w.Expect(w.owners("cp-0")).To(Equal(1))
}
