// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// dataTemplate creates a template whose metadata contains its name.
func (f *fixture) dataTemplate(name string) {
	f.t.Helper()
	f.create(&infrav1.Metal3DataTemplate{ObjectMeta: f.meta(name), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: "one",
		MetaData:    &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "template", Value: name}}},
	}})
}

func usesData(template string) func(*clusterv1.Machine, *infrav1.Metal3Machine) {
	return func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: template}
	}
}

func TestDataPrecedesImage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1", usesData("later"))
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataFailedReason)).
		To(ContainSubstring("later does not exist"))
	host := f.host(rack1)
	f.Expect(host.Spec.ConsumerRef).NotTo(BeNil())
	f.Expect(host.Spec.Image).To(BeNil(), "it would boot without its data")
	f.dataTemplate("later")
	host = f.waitForProvisioned(machine)
	f.Expect(host.Spec.MetaData).To(HaveValue(Equal(corev1.SecretReference{Namespace: f.name, Name: "cp-0-metadata"})))
	f.Expect(machine.Status.RenderedData).To(HaveValue(Equal(infrav1.Metal3ObjectRef{Namespace: f.name, Name: "later-0"})))
	secret := &corev1.Secret{ObjectMeta: f.meta("cp-0-metadata")}
	f.get(secret)
	f.Expect(string(secret.Data["metaData"])).To(And(ContainSubstring("template: later"), ContainSubstring("providerid: "+f.name+"/"+rack1+"/cp-0")))
	f.deleteMachine(machine)
	f.waitForDeletion(&infrav1.Metal3Data{ObjectMeta: f.meta("later-0")})
}

func TestDataTemplateOfFailureDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(3, 1))
	f.cluster("one", "rack-1", "rack-2", "rack-3")
	for _, name := range []string{"everywhere", "only-rack-1", "only-rack-2"} {
		f.dataTemplate(name)
	}
	of := func(domain string) infrav1.FailureDomainDataTemplate {
		return infrav1.FailureDomainDataTemplate{FailureDomain: domain, DataTemplate: infrav1.Metal3ObjectRef{Name: "only-" + domain}}
	}
	f.create(&infrav1.Metal3MachineTemplate{ObjectMeta: f.meta("template"), Spec: infrav1.Metal3MachineTemplateSpec{
		FailureDomainDataTemplates: []infrav1.FailureDomainDataTemplate{of("rack-1"), of("rack-2")},
		Template: infrav1.Metal3MachineTemplateResource{Spec: infrav1.Metal3MachineSpec{
			Image: infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123"},
		}},
	}})
	cloned := func(machine *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		usesData("everywhere")(machine, metal3)
		metal3.Annotations = map[string]string{
			clusterv1.TemplateClonedFromNameAnnotation: "template", clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.MachineTemplateGroupKind,
		}
		metal3.Spec.FailureDomainPolicy = infrav1.FailureDomainPreferred
	}
	for _, tc := range []struct{ name, asked, data string }{
		{"a", "rack-1", "only-rack-1-0"}, {"b", "rack-1", "only-rack-2-0"}, {"c", "rack-3", "everywhere-0"},
	} {
		machine := f.machine("one", tc.name, tc.asked, cloned)
		f.waitForProvisioned(machine)
		f.Expect(machine.Status.RenderedData.Name).To(Equal(tc.data), "machine %s asked for %s and is in %s", tc.name, tc.asked, machine.Status.FailureDomain)
	}
}

func TestMachineReportsDataError(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	f.create(&infrav1.Metal3DataTemplate{ObjectMeta: f.meta("broken"), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: "one",
		MetaData:    &infrav1.MetaData{FromHostInterfaces: []infrav1.MetaDataHostInterface{{Key: "mac", Interface: "eth99"}}},
	}})
	machine := f.machine("one", "cp-0", "rack-1", usesData("broken"))
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataFailedReason)).To(ContainSubstring("eth99"))
	f.deleteMachine(machine)
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
}

func TestProvidedSecretsNeedNoTemplate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	f.create(&corev1.Secret{ObjectMeta: f.meta("mine"), StringData: map[string]string{"metaData": "a: b", "networkData": "links: []"}})
	machine := f.machine("one", "cp-0", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.MetaData, metal3.Spec.NetworkData = &corev1.SecretReference{Name: "mine"}, &corev1.SecretReference{Name: "mine"}
	})
	host := f.waitForProvisioned(machine)
	f.Expect(host.Spec.MetaData).To(HaveValue(Equal(corev1.SecretReference{Namespace: f.name, Name: "mine"})))
	f.Expect(host.Spec.NetworkData).To(HaveValue(Equal(corev1.SecretReference{Namespace: f.name, Name: "mine"})))
	f.Expect(machine.Status.RenderedData).To(BeNil())
}

// The operator reports no error while it waits for a Secret.
func TestMachineReportsMissingSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.NetworkData = &corev1.SecretReference{Name: "mine"}
	})
	f.Eventually(func() string {
		return f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	}).Should(ContainSubstring("Secret " + f.name + "/mine (spec.networkData) does not exist: create it, or delete the Machine"))
	f.Expect(f.host(rack1).Status.ErrorMessage).To(BeEmpty())
	f.create(&corev1.Secret{ObjectMeta: f.meta("mine"), StringData: map[string]string{"networkData": "links: []"}})
	f.waitForProvisioned(machine)
}

func TestDataClaimIsCreatedWithFinalizers(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 1))
	m := &meter{calls: map[string]int{}}
	f.config = m.config(apiServer)
	f.start()
	f.cluster("one", "rack-1")
	f.dataTemplate("t")
	machine := f.machine("one", "cp-0", "rack-1", usesData("t"))
	f.waitForProvisioned(machine)
	cost := m.reset()
	f.Expect(cost["POST metal3dataclaims"]).To(Equal(1), "%v", cost)
	f.Expect(cost).NotTo(HaveKey("PATCH metal3dataclaims"), "%v", cost)
	claim := &infrav1.Metal3DataClaim{ObjectMeta: f.meta("cp-0")}
	f.get(claim)
	f.Expect(claim.Finalizers).To(ConsistOf(infrav1.MachineFinalizer, infrav1.DataClaimFinalizer))
	f.deleteMachine(machine)
	f.waitForDeletion(claim)
}

func TestMachineReportsRefusedData(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	f.dataTemplate("t")
	f.user().Quota(f.name, corev1.ResourceSecrets, 1) // the bootstrap data
	machine := f.machine("one", "cp-0", "rack-1", usesData("t"))
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3DataSecretRefusedReason)).To(And(
		ContainSubstring("Secret cp-0-metadata"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineReadyCondition, infrav1.Metal3MachineNotReadyReason)).To(ContainSubstring("cp-0-metadata"))
	f.deleteMachine(machine)
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
}

func TestMachineReportsRefusedDataClaim(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	f.dataTemplate("t")
	quota := f.user().Quota(f.name, "count/metal3dataclaims.infrastructure.cluster.x-k8s.io", 0)
	machine := f.machine("one", "cp-0", "rack-1", usesData("t"))
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineAssociateMetaDataCondition, infrav1.Metal3MachineAssociateMetaDataFailedReason)).To(And(
		ContainSubstring("Metal3DataClaim cp-0"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	f.Expect(f.client.Delete(t.Context(), quota)).To(Succeed())
	update(f, machine, func(machine *infrav1.Metal3Machine) {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, "test/again", "1")
	})
	f.waitForProvisioned(machine)
}

func TestMachineReportsRefusedSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	f.dataTemplate("t")
	quota := f.user().Quota(f.name, "count/metal3datas.infrastructure.cluster.x-k8s.io", 0)
	machine := f.machine("one", "cp-0", "rack-1", usesData("t"))
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataFailedReason)).To(And(
		ContainSubstring("Metal3Data t-0"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	f.Expect(f.client.Delete(t.Context(), quota)).To(Succeed())
	f.waitForProvisioned(machine)
	claim := &infrav1.Metal3DataClaim{ObjectMeta: f.meta("cp-0")}
	f.get(claim)
	f.Expect(claim.Status.ErrorMessage).To(BeNil())
}
