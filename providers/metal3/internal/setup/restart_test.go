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
func (f *fixture) owners(machine string) int {
	f.t.Helper()
	placements, err := simulator.Placements(f.t.Context(), f.client, f.name)
	f.Expect(err).NotTo(HaveOccurred())
	n := 0
	for _, p := range placements {
		if p.Consumer == machine {
			n++
		}
	}
	return n
}

func TestRestartBeforeClaim(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.setIntendedHost(machine, "rack-1-host-002")
	f.start()
	f.waitForProvisioned(machine)
	f.Expect(f.owners("cp-0")).To(Equal(1))
}

func TestRestartBeforeClaimOfTakenHost(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.setIntendedHost(machine, rack1)
	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: f.name, Name: "other"}
	})
	f.start()
	f.Expect(f.waitForProvisioned(machine).Name).To(Equal("rack-1-host-002"))
	f.Expect(f.owners("other")).To(Equal(1))
}

func TestRestartAfterTheClaim(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.setIntendedHost(machine, "rack-1-host-002")
	update(f, f.host("rack-1-host-002"), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "Metal3Machine", Namespace: f.name, Name: "cp-0"}
	})
	f.start()
	f.Expect(f.waitForProvisioned(machine).Name).To(Equal("rack-1-host-002"), "the claim of before, though of an older version, is kept")
	f.Expect(f.owners("cp-0")).To(Equal(1))
}

// upstreamOwns makes the machine an owner of the host, in addition to others, and labels the host's BMC Secret with the cluster,
// as upstream does.
func (f *fixture) upstreamOwns(machine *infrav1.Metal3Machine, others ...metav1.OwnerReference) *corev1.Secret {
	f.t.Helper()
	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.OwnerReferences = append(others, metav1.OwnerReference{
			APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "Metal3Machine", Name: machine.Name, UID: machine.UID,
		})
	})
	secret := &corev1.Secret{ObjectMeta: f.meta(f.host(rack1).Spec.BMC.CredentialsName)}
	update(f, secret, func(secret *corev1.Secret) {
		metav1.SetMetaDataLabel(&secret.ObjectMeta, clusterv1.ClusterNameLabel, "one")
	})
	return secret
}

func TestAdoptedHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.stop()
	foreign := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Inventory", Name: "racks", UID: "1", Controller: ptr.To(true)}
	secret := f.upstreamOwns(machine, foreign)
	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) { delete(host.Annotations, clusterctlv1.BlockMoveAnnotation) })
	f.start()
	f.Eventually(func() []metav1.OwnerReference { return f.host(rack1).OwnerReferences }).Should(ConsistOf(foreign))
	f.Expect(f.host(rack1).Annotations).To(HaveKey(clusterctlv1.BlockMoveAnnotation), "the first clusterctl move waits until the host is paused")
	f.Expect(f.get(secret).GetLabels()).NotTo(HaveKey(clusterv1.ClusterNameLabel), "the Secret of a BMC is the cluster's only while it is moved")
}

func TestReleaseOfHostClaimedByUpstream(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.stop()
	secret := f.upstreamOwns(machine)
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.start()
	f.waitForDeletion(machine)
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
	f.Expect(f.host(rack1).OwnerReferences).To(BeEmpty())
	f.Expect(f.get(secret).GetLabels()).NotTo(HaveKey(clusterv1.ClusterNameLabel))
}

// A host that upstream kept for the next machine of its owner (spec.nodeReuse) when it was replaced.
func TestReuseOfHostKeptByUpstream(t *testing.T) {
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
			f := newFixture(t, simulator.Racks(1, 1))
			f.cluster("one", "rack-1")
			ours := reusable(f)
			first := f.machine("one", "first", "rack-1", ours)
			f.waitForProvisioned(first)
			f.stop()
			f.upstreamOwns(first)
			f.Expect(f.client.Delete(t.Context(), first)).To(Succeed())
			update(f, f.host(rack1), leave)
			f.start()
			f.waitForDeletion(first)
			worker := f.machine("one", "worker", "rack-1")
			f.waitForReason(worker, infrav1.NoCapacityReason)
			host := f.waitForProvisioned(f.machine("one", "second", "rack-1", ours))
			f.Expect(host.Name).To(Equal(rack1))
			f.Expect(host.Labels).NotTo(HaveKey(infrav1.NodeReuseLabel))
		})
	}
}

func TestHostWithOwnControllerIsClaimed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Inventory", Name: "racks", UID: "1", Controller: ptr.To(true)}}
	})
	f.cluster("one", "rack-1")
	f.Expect(f.waitForProvisioned(f.machine("one", "cp-0", "rack-1")).OwnerReferences).To(HaveLen(1))
}

func TestDeleteAfterUnrecordedClaim(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.setIntendedHost(machine, rack1)
	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: f.name, Name: "cp-0"}
		host.Spec.Image = &bmov1alpha1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123"}
	})
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.start()
	f.waitForDeletion(machine)
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
}

// The API server is not called for such a name.
func TestInvalidHostAnnotation(t *testing.T) {
	t.Parallel()
	for name, annotated := range map[string]string{"a path": "..", "a name that does not fit into a URL": "50%"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newEmptyFixture(t)
			f.hosts(simulator.Racks(1, 1))
			f.cluster("one", "rack-1")
			deleted, machine := f.machine("one", "cp-0", "rack-1"), f.machine("one", "cp-1", "rack-1")
			f.setIntendedHost(deleted, annotated)
			f.setIntendedHost(machine, annotated)
			f.Expect(f.client.Delete(t.Context(), deleted)).To(Succeed())
			f.start()
			f.waitForDeletion(deleted)
			f.waitForProvisioned(machine)
		})
	}
}

// A manager that stops in any state of the host continues from there.
func TestRestartInEveryStateOfTheHost(t *testing.T) {
	t.Parallel()
	for _, state := range []bmov1alpha1.ProvisioningState{bmov1alpha1.StateAvailable, bmov1alpha1.StateProvisioning} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, simulator.Racks(1, 2))
			f.cluster("one", "rack-1")
			key := client.ObjectKeyFromObject(f.host(rack1))
			f.sim.Stick(state, key)
			machine := f.machine("one", "cp-0", "rack-1")
			f.Eventually(func() bool {
				host := f.host(rack1)
				return host.Spec.ConsumerRef != nil && host.Status.Provisioning.State == state
			}).Should(BeTrue())
			f.stop()
			f.sim.Heal(key)
			f.start()
			f.Expect(f.waitForProvisioned(machine).Name).To(Equal(rack1))
			f.Expect(f.owners("cp-0")).To(Equal(1))
		})
	}
}

func TestRestartDuringDelete(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	key := client.ObjectKeyFromObject(f.waitForProvisioned(machine))
	f.sim.Stick(bmov1alpha1.StateDeprovisioning, key)
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.Eventually(func() bmov1alpha1.ProvisioningState { return f.host(rack1).Status.Provisioning.State }).Should(Equal(bmov1alpha1.StateDeprovisioning))
	f.stop()
	f.sim.Heal(key)
	f.Eventually(func() bmov1alpha1.ProvisioningState { return f.host(rack1).Status.Provisioning.State }).Should(Equal(bmov1alpha1.StateAvailable))
	f.start()
	f.waitForDeletion(machine)
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
}

func TestRestartWhileMachinesWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	first := f.machine("one", "first", "rack-1")
	f.waitForProvisioned(first)
	second := f.machine("one", "second", "rack-1")
	f.waitForReason(second, infrav1.NoCapacityReason)
	f.stop()
	f.start()
	f.deleteMachine(first)
	f.waitForProvisioned(second)
}

// clusterctl creates the objects again in another management cluster: the UIDs of owners change, and hosts have no status.
func TestMovedMachineKeepsItsHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.stop()
	update(f, machine, func(machine *infrav1.Metal3Machine) { machine.Finalizers = nil })
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.waitForDeletion(machine)
	f.Expect(f.client.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: f.meta("cp-0")})).To(Succeed())
	moved := f.machine("one", "cp-0", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations, metal3.Spec = machine.Annotations, machine.Spec
	})
	f.start()
	f.Expect(f.waitForProvisioned(moved).Name).To(Equal(rack1))
	f.Expect(moved.Spec.ProviderID).To(Equal(machine.Spec.ProviderID))
	f.Expect(ptr.Deref(moved.Status.Initialization.Provisioned, false)).To(BeTrue())
	f.Expect(f.owners("cp-0")).To(Equal(1))
}
