// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data_test

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// denyCreation rejects every new object of a resource of Cluster API's IPAM in the namespace.
func (f *fixture) denyCreation(resources string, probe client.Object) func() {
	f.t.Helper()
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule: admissionv1.Rule{
			APIGroups: []string{ipamclusterv1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{resources},
		},
	}}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: f.name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}},
		Validations:      []admissionv1.Validation{{Expression: "false", Message: "no addresses on Sundays"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: f.name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: f.name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: f.name},
		}},
	}}
	f.create(policy, binding)
	tried := func() error {
		return f.client.Create(f.t.Context(), probe.DeepCopyObject().(client.Object), client.DryRunAll)
	}
	f.Eventually(tried).Should(MatchError(ContainSubstring("Sundays")))
	return func() {
		f.t.Helper()
		f.delete(binding)
		f.delete(policy)
		f.Eventually(tried).Should(Succeed())
	}
}

// waitForRefusal waits until the condition of the data reports that the API server rejects an object, and returns the message.
func (f *fixture) waitForRefusal(data *infrav1.Metal3Data, reason string) string {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(conditions.IsFalse(data, infrav1.Metal3DataReadyCondition)).To(BeTrue())
		g.Expect(conditions.GetReason(data, infrav1.Metal3DataReadyCondition)).To(Equal(reason))
	}).Should(Succeed())
	message := conditions.GetMessage(data, infrav1.Metal3DataReadyCondition)
	f.Expect(data.Status.ErrorMessage).To(HaveValue(Equal(message)), "upstream's field has the same message")
	return message
}

// triggerReconcile triggers a reconcile of the data, as its requeue after a time does.
func (f *fixture) triggerReconcile(data *infrav1.Metal3Data) {
	f.t.Helper()
	update(f, data, func(data *infrav1.Metal3Data) { metav1.SetMetaDataAnnotation(&data.ObjectMeta, "test/again", "1") })
}

func TestSecretRefusedByQuota(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	quota := f.user().Quota(f.name, corev1.ResourceSecrets, 0)
	data := f.machineWithData(`metaData: {strings: [{key: a, value: b}]}`)
	f.Expect(f.waitForRefusal(data, infrav1.Metal3DataSecretRefusedReason)).To(And(
		ContainSubstring("Secret m-1-metadata"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	f.delete(quota)
	f.triggerReconcile(data)
	f.waitForReady(data)
	f.Expect(conditions.IsTrue(data, infrav1.Metal3DataReadyCondition)).To(BeTrue())
	f.Expect(conditions.GetMessage(data, infrav1.Metal3DataReadyCondition)).To(BeEmpty())
}

func TestIPClaimRefusedByQuota(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.pool()
	quota := f.user().Quota(f.name, "count/ipclaims.ipam.metal3.io", 0)
	data := f.machineWithData(metal3Pool)
	f.Expect(f.waitForRefusal(data, infrav1.Metal3DataAddressClaimRefusedReason)).To(And(
		ContainSubstring("IPClaim t-4-p"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	f.delete(quota)
	f.triggerReconcile(data)
	claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p")})
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
}

func TestIPAddressClaimRefusedByPolicy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	probe := &ipamclusterv1.IPAddressClaim{ObjectMeta: f.meta("probe"), Spec: ipamclusterv1.IPAddressClaimSpec{
		PoolRef: ipamclusterv1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "p"},
	}}
	allow := f.denyCreation("ipaddressclaims", probe)
	data := f.machineWithData(clusterAPIPool)
	f.Expect(f.waitForRefusal(data, infrav1.Metal3DataAddressClaimRefusedReason)).To(And(
		ContainSubstring("IPAddressClaim t-4-p"), ContainSubstring("no addresses on Sundays"), ContainSubstring("change the policy")))
	allow()
	f.triggerReconcile(data)
	claimed(f, &ipamclusterv1.IPAddressClaim{ObjectMeta: f.meta("t-4-p")})
}

func TestRefusedDataCanBeDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.user().Quota(f.name, corev1.ResourceSecrets, 0)
	data := f.machineWithData(`metaData: {strings: [{key: a, value: b}]}`)
	f.waitForRefusal(data, infrav1.Metal3DataSecretRefusedReason)
	claim := &infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")}
	update(f, claim, func(claim *infrav1.Metal3DataClaim) { claim.Finalizers = nil })
	f.delete(claim)
	f.delete(data)
	f.waitForDeletion(data)
}
