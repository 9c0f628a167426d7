// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestMachineIsProvisionedInItsFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-2")
	now := w.waitForProvisioned(infra)
	vm := w.vm(infra)
	w.Expect(now.Spec.ProviderID).To(Equal(virtualmachine.ProviderID(vm)))
	w.Expect(vm.Labels).To(HaveKeyWithValue(infrav1.MachineIDLabel, now.Annotations[infrav1.MachineIDAnnotation]))
	w.Expect(now.Status.Addresses).To(ContainElement(clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: w.address(infra)}))
	w.Expect(now.Finalizers).To(ConsistOf(infrav1.MachineFinalizer))
	w.Eventually(func() string { return w.latest(infra).Status.FailureDomain }).Should(Equal("zone-2"))
	for _, condition := range []string{infrav1.MachineCreatedCondition, infrav1.VMProvisioningReadyCondition, infrav1.VMRunningCondition} {
		w.Expect(conditions.IsTrue(w.latest(infra), condition)).To(BeTrue(), condition)
	}
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.WaitingForNodeReason)
	w.Expect(w.claims()).To(HaveLen(1))
}

func TestAMachineWaitsForVirtControllerThatIsDownAndSaysSo(t *testing.T) {
	sim.NeedsSimulatedKubeVirt(t)
	t.Parallel()
	w := newFixture(t)
	w.start()
	fault := func(on bool) {
		w.Expect(sim.SetFault(context.WithoutCancel(t.Context()), "no-virt-controller", on, w.name, w.name+"-a")).To(Succeed())
	}
	fault(true)
	t.Cleanup(func() { fault(false) })
	infra := w.machine("a", "zone-2")
	for _, condition := range []string{infrav1.VMProvisioningReadyCondition, infrav1.VMRunningCondition} {
		w.Eventually(func() string { return conditions.GetMessage(w.latest(infra), condition) }).
			Should(ContainSubstring("virt-controller has not processed it yet; if this persists, see the Deployment virt-controller of Harvester"))
	}
	fault(false)
	w.waitForProvisioned(infra)
}

// Upstream reports the requested failure domain, even before the virtual machine exists, and never updates it.
func TestF1FailureDomainFollowsMigration(t *testing.T) {
	sim.NeedsMigration(t)
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "")
	w.waitForProvisioned(infra)
	for _, zone := range []string{"zone-1", "zone-3", "zone-2"} {
		if host := zone + "-host-1"; w.vmi(infra).Status.NodeName != host {
			w.Expect(sim.Migrate(t.Context(), client.ObjectKeyFromObject(infra), host)).To(Succeed())
		}
		w.Eventually(func() string { return w.latest(infra).Status.FailureDomain }).Should(Equal(zone))
	}
}

// Upstream adds the failure domain's term to the user's affinity, and stores it again with each attempt.
func TestF6AffinityOfUserIsNotModified(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	requested := &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}}},
	}}}}
	infra := w.machine("a", "zone-1", func(infra *infrav1.HarvesterMachine) { infra.Spec.NodeAffinity = requested.DeepCopy() })
	w.waitForProvisioned(infra)
	w.Expect(w.latest(infra).Spec.NodeAffinity).To(Equal(requested))
	terms := w.vm(infra).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	w.Expect(terms).To(HaveLen(1))
	w.Expect(terms[0].MatchExpressions).To(ContainElements(
		HaveField("Key", corev1.LabelOSStable), HaveField("Values", []string{"zone-1"})))
}

// Upstream reports a machine as ready as soon as its virtual machine is created.
func TestD5MachineWithoutAddressIsNotReady(t *testing.T) {
	w := newFixture(t)
	w.fault("no-agents", true)
	w.start()
	infra := w.machine("a", "zone-1")
	w.Eventually(func() bool { return conditions.IsTrue(w.latest(infra), infrav1.VMRunningCondition) }).Should(BeTrue())
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureProvisioningInProgressReason)).
		To(ContainSubstring("check that qemu-guest-agent runs"))
	now := w.latest(infra)
	w.Expect(now.Status.Ready).To(BeFalse())
	w.Expect(now.Status.Initialization.Provisioned).To(BeNil())
	w.fault("no-agents", false)
	w.waitForProvisioned(infra)
}

func TestUnrecordedVirtualMachineIsAdopted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	made := w.vm(infra)
	stop()
	// The manager died after creating the virtual machine and before recording it.
	w.update(infra, func(now *infrav1.HarvesterMachine) { now.Spec.ProviderID = "" })
	w.updateStatus(infra, func(now *infrav1.HarvesterMachine) { now.Status = infrav1.HarvesterMachineStatus{} })
	w.start()
	w.waitForProvisioned(infra)
	w.Expect(w.vm(infra).UID).To(Equal(made.UID))
	w.Expect(w.latest(infra).Spec.ProviderID).To(Equal(virtualmachine.ProviderID(made)))
}

func TestUpstreamVirtualMachineIsTakenOverAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	former := w.foreignVM("a")
	w.Expect(w.harvester.Create(t.Context(), former)).To(Succeed())
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: former.Name + "-disk-0-abcde"}}
	claim.Spec = claimSpec()
	w.Expect(w.harvester.Create(t.Context(), claim)).To(Succeed())
	infra := w.machine("a", "zone-1", func(infra *infrav1.HarvesterMachine) {
		infra.Spec.ProviderID = virtualmachine.ProviderID(former)
		infra.Finalizers = []string{infrav1.MachineFinalizerLegacy}
	})
	w.start()
	now := w.waitForProvisioned(infra)
	w.Expect(w.vm(infra).UID).To(Equal(former.UID))
	w.Expect(w.vm(infra).Labels).To(HaveKeyWithValue(infrav1.MachineIDLabel, now.Annotations[infrav1.MachineIDAnnotation]))
	w.Expect(now.Finalizers).To(ConsistOf(infrav1.MachineFinalizer))
	// The load balancer selects it, and events of the instance after the next restart enqueue the machine.
	found := HaveKeyWithValue(infrav1.ClusterIDLabel, w.infra.Annotations[infrav1.ClusterIDAnnotation])
	w.Expect(w.vmi(infra).Labels).To(found)
	w.Expect(w.vm(infra).Spec.Template.ObjectMeta.Labels).To(found)
	w.Expect(w.vm(infra).Spec.Template.ObjectMeta.Annotations).To(HaveKeyWithValue(infrav1.OwnerAnnotation, w.name+"/"+infra.Name))
	w.Expect(w.vm(infra).Spec.Template.Spec).To(Equal(former.Spec.Template.Spec))
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claims).Should(BeEmpty())
}

func TestForeignVirtualMachineIsNeitherAdoptedNorDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	foreign := w.foreignVM("a")
	w.Expect(w.harvester.Create(t.Context(), foreign)).To(Succeed())
	w.start()
	infra := w.machine("a", "zone-1")
	w.Expect(w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.VirtualMachineNotOursReason)).To(ContainSubstring("delete the Machine"))
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Expect(w.vm(infra).UID).To(Equal(foreign.UID))
	w.Expect(w.vm(infra).DeletionTimestamp).To(BeNil())
}

func TestDeletedVirtualMachineIsNotRecreated(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.Expect(w.harvester.Delete(t.Context(), w.vm(infra))).To(Succeed())
	w.Expect(w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.MachineNotFoundReason)).To(ContainSubstring("delete the Machine"))
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty())
	w.delete(infra)
	w.waitForDeletion(infra)
}

func TestUnschedulableVirtualMachineStartsOnceHostHasCapacity(t *testing.T) {
	w := newFixture(t)
	for _, host := range []string{"zone-3-host-1", "zone-3-host-2"} {
		w.fault("cordoned", true, host)
	}
	w.start()
	infra := w.machine("a", "zone-3") // the cluster's view of the domain is outdated
	w.Expect(w.waitForReason(infra, infrav1.VMProvisioningReadyCondition, infrav1.VMUnschedulableReason)).To(ContainSubstring("add capacity to its failure domain"))
	w.Expect(conditions.IsTrue(w.latest(infra), infrav1.MachineCreatedCondition)).To(BeTrue())
	w.fault("cordoned", false, "zone-3-host-1")
	w.waitForProvisioned(infra)
	w.Eventually(func() bool { return conditions.IsTrue(w.latest(infra), infrav1.VMProvisioningReadyCondition) }).Should(BeTrue())
}

func TestMachineWaitsForFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.domain("zone-2", faultlinev1.DomainCordoned)
	w.start()
	infra := w.machine("a", "zone-2")
	w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.FailureDomainNotReadyReason)
	w.Expect(w.latest(infra).Finalizers).To(BeEmpty())
	w.domain("zone-2", faultlinev1.DomainActive)
	w.waitForProvisioned(infra)
	w.Expect(w.latest(infra).Status.FailureDomain).To(Equal("zone-2"))
}

func TestMachineWaitsForHostInFailureDomain(t *testing.T) {
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-9")
	w.Expect(w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.FailureDomainNotFoundReason)).To(ContainSubstring("label hosts"))
	w.Expect(sim.Label(t.Context(), "zone-1-host-2", corev1.LabelTopologyZone, "zone-9")).To(Succeed())
	t.Cleanup(func() {
		w.Expect(sim.Label(w.context(), "zone-1-host-2", corev1.LabelTopologyZone, "zone-1")).To(Succeed())
	})
	w.waitForProvisioned(infra)
	w.Expect(w.vmi(infra).Status.NodeName).To(Equal("zone-1-host-2"))
}

func TestNumberOfRequestsOfMachine(t *testing.T) {
	w := newFixture(t)
	w.start()
	w.waitForProvisioned(w.machine("first", "zone-1")) // informers list once
	pool := w.pool("one", 7)
	sim.ForgetRequests()
	infra := w.machine("a", "zone-2", fromPools(pool))
	w.waitForProvisioned(infra)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.WaitingForNodeReason)
	w.Expect(len(w.requests())).To(BeNumerically("<=", 8), "%v", w.requests())

	sim.ForgetRequests()
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, "test.faultline.io/reconcile", "1")
	})
	w.Consistently(w.requests).Should(BeEmpty())
}

// The first write stores the id, before any object is created. The others store the provider ID, the creation, and the running state.
// Intermediate states are written at most every five seconds.
func TestNumberOfWritesOfMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	w.waitForProvisioned(w.machine("first", "zone-1")) // informers list once
	writes := w.writes()
	began := time.Now()
	infra := w.machine("a", "zone-2")
	versions := writes(infra, func(now *infrav1.HarvesterMachine) bool { return now.Status.Ready })
	// The status reports a virtual machine that starts slowly.
	versions = slices.DeleteFunc(versions, func(version string) bool { return strings.Contains(version, "(Starting)") })
	w.Expect(len(versions)).To(BeNumerically("<=", 4+int(time.Since(began)/(5*time.Second))), "%s", strings.Join(versions, "\n"))
}

func claimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		StorageClassName: ptr.To("harvester-longhorn"),
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: tenGi()}},
	}
}

func TestUnusedKeyPairIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	with := w.machine("with", "zone-1")
	w.waitForProvisioned(with)
	w.Expect(w.client.Update(t.Context(), &corev1.Secret{ObjectMeta: w.meta("bootstrap"), Data: map[string][]byte{
		"value": []byte(`{"ignition":{"version":"3.3.0"}}`), "format": []byte("ignition"),
	}})).To(Succeed())
	without := w.machine("without", "zone-1")
	w.waitForProvisioned(without)
	w.Eventually(func() string { return w.event(without, "KeyPairUnused") }).Should(ContainSubstring("spec.sshKeyPair"))
	w.Expect(w.event(with, "KeyPairUnused")).To(BeEmpty())
}
