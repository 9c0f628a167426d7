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
func (w *world) dataTemplate(name string) {
	w.t.Helper()
	w.create(&infrav1.Metal3DataTemplate{ObjectMeta: w.meta(name), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: "one",
		MetaData:    &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "template", Value: name}}},
	}})
}

func usesData(template string) func(*clusterv1.Machine, *infrav1.Metal3Machine) {
	return func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: template}
	}
}

func TestHostIsGivenItsDataBeforeItsImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1", usesData("later"))
	w.Expect(w.condition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataFailedReason)).
		To(ContainSubstring("later does not exist"))
	host := w.host(rack1)
	w.Expect(host.Spec.ConsumerRef).NotTo(BeNil())
	w.Expect(host.Spec.Image).To(BeNil(), "it would boot without its data")
	w.dataTemplate("later")
	host = w.provisioned(machine)
	w.Expect(host.Spec.MetaData).To(HaveValue(Equal(corev1.SecretReference{Namespace: w.name, Name: "cp-0-metadata"})))
	w.Expect(machine.Status.RenderedData).To(HaveValue(Equal(infrav1.Metal3ObjectRef{Namespace: w.name, Name: "later-0"})))
	secret := &corev1.Secret{ObjectMeta: w.meta("cp-0-metadata")}
	w.get(secret)
	w.Expect(string(secret.Data["metaData"])).To(And(ContainSubstring("template: later"), ContainSubstring("providerid: "+w.name+"/"+rack1+"/cp-0")))
	w.remove(machine)
	w.gone(&infrav1.Metal3Data{ObjectMeta: w.meta("later-0")})
}

func TestDataTemplateFollowsTheDomainThatTheHostIsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(3, 1))
	w.cluster("one", "rack-1", "rack-2", "rack-3")
	for _, name := range []string{"everywhere", "only-rack-1", "only-rack-2"} {
		w.dataTemplate(name)
	}
	of := func(domain string) infrav1.FailureDomainDataTemplate {
		return infrav1.FailureDomainDataTemplate{FailureDomain: domain, DataTemplate: infrav1.Metal3ObjectRef{Name: "only-" + domain}}
	}
	w.create(&infrav1.Metal3MachineTemplate{ObjectMeta: w.meta("template"), Spec: infrav1.Metal3MachineTemplateSpec{
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
		machine := w.machine("one", tc.name, tc.asked, cloned)
		w.provisioned(machine)
		w.Expect(machine.Status.RenderedData.Name).To(Equal(tc.data), "machine %s asked for %s and is in %s", tc.name, tc.asked, machine.Status.FailureDomain)
	}
}

func TestTroubleWithTheDataIsShownOnTheMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	w.create(&infrav1.Metal3DataTemplate{ObjectMeta: w.meta("broken"), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: "one",
		MetaData:    &infrav1.MetaData{FromHostInterfaces: []infrav1.MetaDataHostInterface{{Key: "mac", Interface: "eth99"}}},
	}})
	machine := w.machine("one", "cp-0", "rack-1", usesData("broken"))
	w.Expect(w.condition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataFailedReason)).To(ContainSubstring("eth99"))
	w.remove(machine)
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
}

func TestGivenSecretsNeedNoTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	w.create(&corev1.Secret{ObjectMeta: w.meta("mine"), StringData: map[string]string{"metaData": "a: b", "networkData": "links: []"}})
	machine := w.machine("one", "cp-0", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.MetaData, metal3.Spec.NetworkData = &corev1.SecretReference{Name: "mine"}, &corev1.SecretReference{Name: "mine"}
	})
	host := w.provisioned(machine)
	w.Expect(host.Spec.MetaData).To(HaveValue(Equal(corev1.SecretReference{Namespace: w.name, Name: "mine"})))
	w.Expect(host.Spec.NetworkData).To(HaveValue(Equal(corev1.SecretReference{Namespace: w.name, Name: "mine"})))
	w.Expect(machine.Status.RenderedData).To(BeNil())
}

// The operator reports no error while it waits for a Secret.
func TestMachineNamesTheSecretThatItsHostLacksAndGoesOnWhenThatIsCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.NetworkData = &corev1.SecretReference{Name: "mine"}
	})
	w.Eventually(func() string {
		return w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	}).Should(ContainSubstring("Secret " + w.name + "/mine (spec.networkData) does not exist: create it, or delete the Machine"))
	w.Expect(w.host(rack1).Status.ErrorMessage).To(BeEmpty())
	w.create(&corev1.Secret{ObjectMeta: w.meta("mine"), StringData: map[string]string{"networkData": "links: []"}})
	w.provisioned(machine)
}

func TestDataClaimHasItsFinalizersFromTheBeginning(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hosts(simulator.Racks(1, 1))
	m := &meter{calls: map[string]int{}}
	w.config = m.config(apiServer)
	w.start()
	w.cluster("one", "rack-1")
	w.dataTemplate("t")
	machine := w.machine("one", "cp-0", "rack-1", usesData("t"))
	w.provisioned(machine)
	cost := m.reset()
	w.Expect(cost["POST metal3dataclaims"]).To(Equal(1), "%v", cost)
	w.Expect(cost).NotTo(HaveKey("PATCH metal3dataclaims"), "%v", cost)
	claim := &infrav1.Metal3DataClaim{ObjectMeta: w.meta("cp-0")}
	w.get(claim)
	w.Expect(claim.Finalizers).To(ConsistOf(infrav1.MachineFinalizer, infrav1.DataClaimFinalizer))
	w.remove(machine)
	w.gone(claim)
}

func TestRefusalOfTheDataIsShownOnTheMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	w.dataTemplate("t")
	w.user().Quota(w.name, corev1.ResourceSecrets, 1) // the bootstrap data
	machine := w.machine("one", "cp-0", "rack-1", usesData("t"))
	w.Expect(w.condition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3DataSecretRefusedReason)).To(And(
		ContainSubstring("Secret cp-0-metadata"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	w.Expect(w.condition(machine, infrav1.Metal3MachineReadyCondition, infrav1.Metal3MachineNotReadyReason)).To(ContainSubstring("cp-0-metadata"))
	w.remove(machine)
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
}

func TestRefusalOfTheClaimForDataIsShownOnTheMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	w.dataTemplate("t")
	quota := w.user().Quota(w.name, "count/metal3dataclaims.infrastructure.cluster.x-k8s.io", 0)
	machine := w.machine("one", "cp-0", "rack-1", usesData("t"))
	w.Expect(w.condition(machine, infrav1.Metal3MachineAssociateMetaDataCondition, infrav1.Metal3MachineAssociateMetaDataFailedReason)).To(And(
		ContainSubstring("Metal3DataClaim cp-0"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	w.Expect(w.client.Delete(t.Context(), quota)).To(Succeed())
	update(w, machine, func(machine *infrav1.Metal3Machine) {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, "test/again", "1")
	})
	w.provisioned(machine)
}

func TestRefusalOfTheDataItselfIsShownOnTheMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	w.dataTemplate("t")
	quota := w.user().Quota(w.name, "count/metal3datas.infrastructure.cluster.x-k8s.io", 0)
	machine := w.machine("one", "cp-0", "rack-1", usesData("t"))
	w.Expect(w.condition(machine, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataFailedReason)).To(And(
		ContainSubstring("Metal3Data t-0"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	w.Expect(w.client.Delete(t.Context(), quota)).To(Succeed())
	w.provisioned(machine)
	claim := &infrav1.Metal3DataClaim{ObjectMeta: w.meta("cp-0")}
	w.get(claim)
	w.Expect(claim.Status.ErrorMessage).To(BeNil())
}
