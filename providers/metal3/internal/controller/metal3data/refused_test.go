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

// policy rejects every new object of a resource of Cluster API's IPAM in the namespace.
func (w *world) policy(resources string, probe client.Object) func() {
	w.t.Helper()
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule: admissionv1.Rule{
			APIGroups: []string{ipamclusterv1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{resources},
		},
	}}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}},
		Validations:      []admissionv1.Validation{{Expression: "false", Message: "no addresses on Sundays"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: w.name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: w.name},
		}},
	}}
	w.create(policy, binding)
	tried := func() error {
		return w.client.Create(w.t.Context(), probe.DeepCopyObject().(client.Object), client.DryRunAll)
	}
	w.Eventually(tried).Should(MatchError(ContainSubstring("Sundays")))
	return func() {
		w.t.Helper()
		w.remove(binding)
		w.remove(policy)
		w.Eventually(tried).Should(Succeed())
	}
}

// refused waits until the condition of the data reports that the API server rejects an object, and returns the message.
func (w *world) refused(data *infrav1.Metal3Data, reason string) string {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(conditions.IsFalse(data, infrav1.Metal3DataReadyCondition)).To(BeTrue())
		g.Expect(conditions.GetReason(data, infrav1.Metal3DataReadyCondition)).To(Equal(reason))
	}).Should(Succeed())
	message := conditions.GetMessage(data, infrav1.Metal3DataReadyCondition)
	w.Expect(data.Status.ErrorMessage).To(HaveValue(Equal(message)), "upstream's field says the same")
	return message
}

// wake triggers a reconcile of the data, as its requeue after a time does.
func (w *world) wake(data *infrav1.Metal3Data) {
	w.t.Helper()
	update(w, data, func(data *infrav1.Metal3Data) { metav1.SetMetaDataAnnotation(&data.ObjectMeta, "test/again", "1") })
}

func TestSecretThatAQuotaRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	quota := w.user().Quota(w.name, corev1.ResourceSecrets, 0)
	data := w.machineWithData(`metaData: {strings: [{key: a, value: b}]}`)
	w.Expect(w.refused(data, infrav1.Metal3DataSecretRefusedReason)).To(And(
		ContainSubstring("Secret m-1-metadata"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	w.remove(quota)
	w.wake(data)
	w.ready(data)
	w.Expect(conditions.IsTrue(data, infrav1.Metal3DataReadyCondition)).To(BeTrue())
	w.Expect(conditions.GetMessage(data, infrav1.Metal3DataReadyCondition)).To(BeEmpty())
}

func TestClaimOfAMetal3AddressThatAQuotaRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.pool()
	quota := w.user().Quota(w.name, "count/ipclaims.ipam.metal3.io", 0)
	data := w.machineWithData(metal3Pool)
	w.Expect(w.refused(data, infrav1.Metal3DataAddressClaimRefusedReason)).To(And(
		ContainSubstring("IPClaim t-4-p"), ContainSubstring("exceeded quota: tight"), ContainSubstring("raise the ResourceQuota")))
	w.remove(quota)
	w.wake(data)
	claimed(w, &ipamv1.IPClaim{ObjectMeta: w.meta("t-4-p")})
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
}

func TestClaimOfAClusterAPIAddressThatAPolicyRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	probe := &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("probe"), Spec: ipamclusterv1.IPAddressClaimSpec{
		PoolRef: ipamclusterv1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "p"},
	}}
	allow := w.policy("ipaddressclaims", probe)
	data := w.machineWithData(clusterAPIPool)
	w.Expect(w.refused(data, infrav1.Metal3DataAddressClaimRefusedReason)).To(And(
		ContainSubstring("IPAddressClaim t-4-p"), ContainSubstring("no addresses on Sundays"), ContainSubstring("change the policy")))
	allow()
	w.wake(data)
	claimed(w, &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("t-4-p")})
}

func TestRefusedDataCanBeDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.user().Quota(w.name, corev1.ResourceSecrets, 0)
	data := w.machineWithData(`metaData: {strings: [{key: a, value: b}]}`)
	w.refused(data, infrav1.Metal3DataSecretRefusedReason)
	claim := &infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1")}
	update(w, claim, func(claim *infrav1.Metal3DataClaim) { claim.Finalizers = nil })
	w.remove(claim)
	w.remove(data)
	w.gone(data)
}
