// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvestercluster_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// withPoolRef requests a load balancer with an address from the named pool.
func withPoolRef(pool string) func(*infrav1.HarvesterCluster) {
	return func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.POOL, IPPoolRef: pool}
	}
}

// rejectPools makes Harvester reject pools of the test's clusters, as its own webhook may.
func (w *fixture) rejectPools(why string) {
	w.t.Helper()
	name := w.name + "-pools"
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{lbv1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"ippools"}},
	}}}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: fmt.Sprintf("!object.metadata.name.startsWith(%q)", w.name), Message: why}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta}
	binding.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}
	for _, o := range []client.Object{policy, binding} {
		w.Expect(w.harvester.Create(w.t.Context(), o)).To(Succeed())
		w.t.Cleanup(func() { w.Expect(w.harvester.Delete(context.WithoutCancel(w.t.Context()), o)).To(Succeed()) })
	}
	probe := simulator.Pool(w.name+"-probe", "10.77.99.0/24", "10.77.99.10", "10.77.99.10")
	w.Eventually(func() error { return w.harvester.Create(w.t.Context(), probe.DeepCopy(), client.DryRunAll) }).Should(MatchError(ContainSubstring(why)))
}

func TestMissingLoadBalancerPoolIsReportedUntilItExists(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", withPoolRef(w.name))
	w.Expect(w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.IPPoolNotFoundReason)).To(And(
		ContainSubstring("IPPool "+w.name), ContainSubstring("spec.loadBalancerConfig.ipPoolRef"), ContainSubstring("create it")))
	w.Expect(cluster.Status.Ready).To(BeFalse())
	w.Expect(w.balancers()).To(BeEmpty())
	pool := simulator.Pool(w.name, "10.77.60.0/24", "10.77.60.10", "10.77.60.11")
	w.Expect(w.harvester.Create(t.Context(), &pool)).To(Succeed())
	w.waitForProvisioned(cluster)
}

func TestExhaustedLoadBalancerPoolIsReportedUntilExtended(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	pool := simulator.Pool(w.name, "10.77.61.0/24", "10.77.61.10", "10.77.61.10")
	w.Expect(w.harvester.Create(t.Context(), &pool)).To(Succeed())
	change(w, w.harvester, &pool, func(pool *lbv1.IPPool) {
		pool.Status = lbv1.IPPoolStatus{Total: 1, LastAllocated: "10.77.61.10", Allocated: map[string]string{"10.77.61.10": "elsewhere/web"}}
	})
	cluster := w.cluster("c", withPoolRef(pool.Name))
	w.Expect(w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.VMIPPoolExhaustedReason)).To(ContainSubstring(pool.Name))
	w.Expect(cluster.Status.Ready).To(BeFalse())
	change(w, w.harvester, &pool, func(pool *lbv1.IPPool) {
		delete(pool.Status.Allocated, "10.77.61.10")
		pool.Status.Available = 1
	})
	w.waitForProvisioned(cluster)
	w.Expect(cluster.Spec.ControlPlaneEndpoint.Host).To(Equal("10.77.61.10"))
}

func TestForeignPoolIsReportedAndKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	first := w.cluster("c", fromPool(62))
	w.waitForProvisioned(first)
	name := w.balancers()[0].Spec.IPPool
	w.remove(first)

	foreign := simulator.Pool(name, "10.77.63.0/24", "10.77.63.10", "10.77.63.11")
	w.Expect(w.harvester.Create(t.Context(), &foreign)).To(Succeed())
	second := w.cluster("c2", fromPool(62), func(cluster *infrav1.HarvesterCluster) { // a copy of the first, as clusterctl move creates it
		cluster.Name = "c"
		cluster.Annotations[infrav1.ClusterIDAnnotation] = first.Annotations[infrav1.ClusterIDAnnotation]
	})
	w.Expect(w.waitForReason(second, infrav1.CustomIPPoolCreatedCondition, infrav1.IPPoolNotOursReason)).To(And(ContainSubstring(name), ContainSubstring("delete it")))
	w.Expect(second.Status.Ready).To(BeFalse())
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(&foreign), &foreign)).To(Succeed())
	w.Expect(foreign.Labels).NotTo(HaveKey(infrav1.ClusterIDLabel))

	w.Expect(w.harvester.Delete(t.Context(), &foreign)).To(Succeed())
	w.waitForProvisioned(second)
}

func TestRejectedPoolIsReportedWithHarvestersMessage(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.rejectPools("addresses are short")
	cluster := w.cluster("c", fromPool(64))
	w.Expect(w.waitForReason(cluster, infrav1.CustomIPPoolCreatedCondition, infrav1.CustomPoolCreationInHarvesterFailedReason)).To(And(
		ContainSubstring("Harvester rejected IPPool"), ContainSubstring("addresses are short")))
	w.Expect(w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNotReadyReason)).
		To(ContainSubstring(infrav1.CustomIPPoolCreatedCondition))
	w.Expect(w.balancers()).To(BeEmpty())
	w.remove(cluster)
}

func TestLoadBalancerRejectedByQuota(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.Expect(w.harvester.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	const count = "count/loadbalancers.loadbalancer.harvesterhci.io"
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "none"}}
	quota.Spec.Hard = corev1.ResourceList{count: resource.MustParse("0")}
	w.Expect(w.harvester.Create(t.Context(), quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{count: resource.MustParse("0")}}
	w.Expect(w.harvester.Status().Update(t.Context(), quota)).To(Succeed()) // a quota controller does not run
	cluster := w.cluster("c")
	w.Expect(w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerRefusedReason)).To(ContainSubstring("exceeded quota: none"))
	w.Expect(cluster.Status.Ready).To(BeFalse())
	w.remove(cluster)
}

func TestTooManyFailureDomainsAreNotPublished(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", givenEndpoint)
	w.waitForProvisioned(cluster)
	for i := range faultlinev1.MaxFailureDomains {
		zone := fmt.Sprintf("z%d", i)
		w.host("host-"+zone, zone)
	}
	w.Expect(w.waitForReason(cluster, infrav1.FailureDomainsReadyCondition, faultlinev1.ReasonTooManyFailureDomains)).To(And(
		ContainSubstring(w.zoneKey()), ContainSubstring("spec.failureDomains")))
	w.Expect(len(cluster.Status.FailureDomains)).To(BeNumerically("<=", faultlinev1.MaxFailureDomains))
	w.Expect(names(cluster)).To(ContainElement("a"), "what was known stays")
	w.Expect(cluster.Status.Ready).To(BeTrue())
}
