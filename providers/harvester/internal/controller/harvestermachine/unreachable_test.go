// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvestermachine_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestUnreachableHarvesterChangesNothing(t *testing.T) {
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.WaitingForNodeReason)
	before := w.latest(infra)
	w.fault("down", true)
	waits := w.machine("b", "zone-1")
	w.waitForReason(waits, infrav1.InfrastructureReadyCondition, infrav1.HarvesterConnectionFailedReason)
	w.Expect(conditions.Get(w.latest(waits), infrav1.InfrastructureReadyCondition).Status).To(Equal(metav1.ConditionUnknown))
	w.Expect(w.latest(infra)).To(Equal(before))
	w.fault("down", false)
	w.waitForProvisioned(waits)
	w.Expect(w.latest(infra)).To(Equal(before), "there was nothing to correct")
}

func TestDeleteWithoutHarvesterRequiresAbandonAnnotation(t *testing.T) {
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.fault("down", true)
	w.delete(infra)
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)).To(And(
		ContainSubstring("set the annotation "+infrav1.AbandonAnnotation), ContainSubstring("VirtualMachine "+infra.Name)))
	id := w.latest(infra).Annotations[infrav1.MachineIDAnnotation]
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, faultlinev1.FormerName(infrav1.AbandonAnnotation), "")
	})
	w.waitForDeletion(infra)
	w.Eventually(func() string { return w.event(infra, "Abandoned") }).Should(And(ContainSubstring("VirtualMachine "+infra.Name), ContainSubstring(id)))
	w.Expect(w.vm(infra).DeletionTimestamp).To(BeNil())
}

func TestDeleteWaitsForHarvester(t *testing.T) {
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.fault("down", true)
	w.delete(infra)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)
	w.fault("down", false)
	w.waitForDeletion(infra)
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty())
}

func TestDeleteUsesOpenConnectionWithoutSecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.Expect(w.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: w.meta("identity")})).To(Succeed())
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty())
}

func TestDeleteInTerminatingNamespaceWithoutSecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	stop()
	w.Expect(w.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: w.meta("identity")})).To(Succeed())
	w.delete(infra)
	w.start()
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)).To(And(
		ContainSubstring("set spec.identitySecret to such a Secret in another namespace"), ContainSubstring(faultlinev1.AllowedNamespacesAnnotation+" lists "+w.name)))
	w.create(&corev1.Secret{ObjectMeta: w.meta("other"), Data: map[string][]byte{infrav1.KubeconfigKey: sim.Kubeconfig()}})
	w.updateCluster(func(cluster *infrav1.HarvesterCluster) { cluster.Spec.IdentitySecret.Name = "other" })
	w.waitForDeletion(infra)
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty())
}

func TestDeleteWithoutClusterReportsResolution(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.Expect(w.client.Delete(t.Context(), w.infra)).To(Succeed())
	w.delete(infra)
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)).To(ContainSubstring("create it again"))
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, infrav1.AbandonAnnotation, "yes")
	})
	w.waitForDeletion(infra)
}

func TestHostWithoutPowerIsReported(t *testing.T) {
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-3")
	w.waitForProvisioned(infra)
	host := w.vmi(infra).Status.NodeName
	w.fault("lost-hosts", true, host)
	message := w.waitForReason(infra, infrav1.VMRunningCondition, infrav1.VMHostUnreachableReason)
	w.Expect(message).To(And(ContainSubstring("host "+host), ContainSubstring("Kubelet stopped posting node status"), ContainSubstring("delete the Machine")))
	w.Expect(w.vm(infra).Status.PrintableStatus).To(Equal(kubevirtv1.VirtualMachineStatusRunning), "KubeVirt does not know")
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.VMHostUnreachableReason)
	w.Expect(conditions.Get(w.latest(infra), clusterv1.ReadyCondition).Status).To(Equal(metav1.ConditionUnknown))
	w.fault("lost-hosts", false, host)
	w.waitForReason(infra, infrav1.VMRunningCondition, infrav1.VMRunningReason)
}

func TestDeleteOnHostWithoutPower(t *testing.T) {
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-3")
	w.waitForProvisioned(infra)
	vmi := w.vmi(infra)
	w.fault("lost-hosts", true, vmi.Status.NodeName)
	w.waitForReason(infra, infrav1.VMRunningCondition, infrav1.VMHostUnreachableReason)
	w.delete(infra)
	w.Eventually(func() string { return conditions.GetMessage(w.latest(infra), infrav1.VMRunningCondition) }).Should(And(
		ContainSubstring("its host "+vmi.Status.NodeName+" is not ready"), ContainSubstring("vm-force-reset-policy"),
		ContainSubstring("--selector kubevirt.io/created-by="+string(vmi.UID)+" --force")))
	w.Consistently(func() int {
		return len(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items)
	}).Should(Equal(1))
	w.Expect(w.harvester.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(w.name),
		client.MatchingLabels{"kubevirt.io/created-by": string(vmi.UID)}, client.GracePeriodSeconds(0))).To(Succeed())
	w.waitForDeletion(infra)
	w.Eventually(w.claims).Should(BeEmpty())
}

func TestPendingVolumesAreNotUnschedulable(t *testing.T) {
	w := newFixture(t)
	w.fault("no-volumes", true)
	w.start()
	writes := w.writes()
	infra := w.machine("a", "zone-1")
	versions := writes(infra, func(now *infrav1.HarvesterMachine) bool {
		return strings.Contains(conditions.GetMessage(now, infrav1.VMProvisioningReadyCondition), "PersistentVolumeClaims")
	})
	w.Expect(w.vm(infra).Status.PrintableStatus).To(Equal(kubevirtv1.VirtualMachineStatusUnschedulable), "KubeVirt calls it so")
	w.Expect(versions).NotTo(ContainElement(ContainSubstring(infrav1.VMUnschedulableReason)))
	w.Expect(conditions.GetReason(w.latest(infra), infrav1.VMProvisioningReadyCondition)).To(Equal(infrav1.VMProvisioningInProgressReason))
	w.Expect(placement.WaitsFor(w.latest(infra))).To(BeEmpty(), "it does not wait for capacity")
	w.fault("no-volumes", false)
	w.waitForProvisioned(infra)
}

func TestGuestShutdownIsReportedForEachRunStrategy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	vm := w.vm(infra)
	w.Expect(w.harvester.Patch(t.Context(), vm, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"runStrategy":"RerunOnFailure"}}`)))).To(Succeed())
	w.fault("powered-off", true, vm.Namespace, vm.Name)
	w.Eventually(func() string { return conditions.GetMessage(w.latest(infra), infrav1.VMRunningCondition) }).
		Should(ContainSubstring("was stopped in Harvester, or by its guest: start it"))
	w.Expect(conditions.GetReason(w.latest(infra), infrav1.VMRunningCondition)).To(Equal(infrav1.VMNotRunningReason))
}

func TestNodeAffinityByField(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	for _, host := range []string{"zone-1-host-2", "zone-2-host-1", "zone-3-host-2"} {
		infra := w.machine(host, "", func(infra *infrav1.HarvesterMachine) {
			infra.Spec.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
					{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{host}},
				}}},
			}}
		})
		w.waitForProvisioned(infra)
		w.Expect(w.vmi(infra).Status.NodeName).To(Equal(host))
	}
}

func TestMachineRestartsOnAnotherHost(t *testing.T) {
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-3")
	before := w.waitForProvisioned(infra)
	host := w.vmi(infra).Status.NodeName
	w.fault("lost-hosts", true, host)
	w.Expect(sim.PutOutOfService(t.Context(), host)).To(Succeed())
	w.Eventually(func() string {
		vmi := &kubevirtv1.VirtualMachineInstance{}
		if err := w.harvester.Get(t.Context(), client.ObjectKeyFromObject(infra), vmi); err != nil {
			return ""
		}
		return vmi.Status.NodeName
	}).Should(And(HavePrefix("zone-3-"), Not(Equal(host))))
	w.Eventually(func() bool { return conditions.IsTrue(w.latest(infra), infrav1.VMRunningCondition) }).Should(BeTrue())
	now := w.latest(infra)
	w.Expect(now.Spec.ProviderID).To(Equal(before.Spec.ProviderID))
	w.Expect(now.Status.FailureDomain).To(Equal("zone-3"))
	w.Expect(now.Status.Ready).To(BeTrue())
}

func TestDeleteWithoutCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.Expect(w.client.Delete(t.Context(), w.cluster)).To(Succeed())
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty())
}

func TestDeleteWithoutObjects(t *testing.T) {
	w := newFixture(t)
	w.fault("down", true)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.HarvesterConnectionFailedReason)
	w.delete(infra)
	w.waitForDeletion(infra)
}

func TestMissingPermissionIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	everything := func(verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: verbs}}
	}
	config := sim.KubeconfigFor(w.name, everything("get", "list", "watch"), "")
	identity := &corev1.Secret{ObjectMeta: w.meta("identity")}
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(identity), identity)).To(Succeed())
	identity.Data[infrav1.KubeconfigKey] = config
	w.Expect(w.client.Update(t.Context(), identity)).To(Succeed())
	w.start()
	infra := w.machine("a", "zone-1")
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.HarvesterAccessDeniedReason)).
		To(And(ContainSubstring(`cannot create resource "secrets"`), ContainSubstring("grant it there")))
	sim.Grant(w.name, everything("get", "list", "watch", "create", "delete"), "")
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, "test.faultline.io/reconcile", "1")
	})
	w.waitForProvisioned(infra)
	w.delete(infra)
	w.Expect(w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)).To(ContainSubstring("cannot deletecollection"))
	sim.Grant(w.name, everything("*"), "")
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, "test.faultline.io/reconcile", "1")
	})
	w.waitForDeletion(infra)
}

// attach creates another virtual machine, which is stopped and uses the machine's volume.
func (w *fixture) attach(infra *infrav1.HarvesterMachine) *kubevirtv1.VirtualMachine {
	w.t.Helper()
	other, volumes := w.foreignVM("other"), w.vm(infra).Spec.Template.Spec.Volumes
	other.Spec.RunStrategy = ptr.To(kubevirtv1.RunStrategyHalted)
	other.Spec.Template.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = volumes[0].PersistentVolumeClaim.ClaimName
	w.Expect(w.harvester.Create(w.t.Context(), other)).To(Succeed())
	return other
}

func TestDeleteReportsVolumeInUse(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	pool := w.pool("one", 8)
	infra := w.machine("a", "zone-1", fromPools(pool))
	w.waitForProvisioned(infra)
	other := w.attach(infra)
	w.delete(infra)
	message := w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)
	w.Expect(message).To(And(
		ContainSubstring("deleting PersistentVolumeClaim "+w.name+"/"+infra.Name+"-disk-0-"), ContainSubstring("currently attached to VMs"),
		ContainSubstring("set the annotation "+infrav1.AbandonAnnotation), Not(ContainSubstring("leave on Harvester: VirtualMachine"))))
	w.Expect(conditions.IsFalse(w.latest(infra), infrav1.InfrastructureReadyCondition)).To(BeTrue())
	w.Expect(w.allocated(pool)).To(BeEmpty())
	w.Expect(w.latest(infra).Status.AllocatedIPAddress).To(BeEmpty())
	w.Expect(w.listOnHarvester(&corev1.SecretList{}).(*corev1.SecretList).Items).To(BeEmpty())
	w.Expect(w.claims()).To(HaveLen(1))

	w.Expect(w.harvester.Delete(t.Context(), other)).To(Succeed())
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, "test.faultline.io/reconcile", "1")
	})
	w.waitForDeletion(infra)
	w.Eventually(w.claims).Should(BeEmpty())
}

func TestAbandonAnnotationLeavesVolumeInUse(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.attach(infra)
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, infrav1.AbandonAnnotation, "")
	})
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(func() string { return w.event(infra, "Abandoned") }).Should(ContainSubstring("PersistentVolumeClaims"))
	w.Expect(w.claims()).To(HaveLen(1))
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(HaveLen(1), "the one that uses the volume")
}

func TestAbandonAnnotationWaitsForTransientFailures(t *testing.T) {
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, infrav1.AbandonAnnotation, "")
	})
	sim.ForgetRequests()
	sim.Fail(1)
	t.Cleanup(func() { sim.Fail(0) })
	w.delete(infra)
	w.Eventually(w.requests).ShouldNot(BeEmpty())
	sim.Fail(0)
	w.waitForDeletion(infra)
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty())
	w.Eventually(w.claims).Should(BeEmpty())
	w.Expect(w.event(infra, "Abandoned")).To(BeEmpty())
}

func TestAbandonAnnotationWaitsForConnection(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	stop()
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, infrav1.AbandonAnnotation, "")
	})
	w.delete(infra)
	w.start()
	w.waitForDeletion(infra)
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty())
	w.Eventually(w.claims).Should(BeEmpty())
}
