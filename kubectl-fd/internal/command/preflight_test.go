// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/kubectl-fd/internal/preflight"
)

// deployment creates the Deployment of a manager.
func deployment(t *testing.T, namespace, label, image string, args ...string) {
	t.Helper()
	labels := map[string]string{clusterv1.ProviderNameLabel: label}
	fields := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: label, Labels: labels}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "manager", Image: image, Args: args}},
		}},
	}}
	g := NewWithT(t)
	g.Expect(appsv1.AddToScheme(shared.client.Scheme())).To(Succeed())
	g.Expect(shared.client.Create(t.Context(), fields)).To(Succeed())
	t.Cleanup(func() { g.Expect(shared.client.Delete(t.Context(), fields)).To(Or(Succeed(), HaveOccurred())) })
}

func TestPreflight(t *testing.T) {
	g, ns := NewWithT(t), own(t)
	deployment(t, ns, "cluster-api", "registry/cluster-api-controller:v1.13.1")
	deployment(t, ns, "infrastructure-metal3", "registry/cluster-api-provider-metal3:v1.12.2", "--leader-elect=false")

	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "controller-leader-election-capm3"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("capm3-pod")},
	}
	g.Expect(coordinationv1.AddToScheme(shared.client.Scheme())).To(Succeed())
	g.Expect(shared.client.Create(t.Context(), lease)).To(Succeed())

	got := shared.run(t, "preflight")
	g.Expect(got.err).To(BeEmpty())
	g.Expect(got.code).To(Equal(2), "a finding must be fixed before the takeover")
	g.Expect(got.out).To(And(
		MatchRegexp(`Stops +metal3 +Deployment %s/cluster-api +Versions +Cluster API is v1\.13\.1: upgrade it to`, ns),
		MatchRegexp(`Stops +metal3 +Deployment %s/infrastructure-metal3 +Lease +--leader-elect=false`, ns),
		MatchRegexp(`Changes +metal3 +Lease %s/controller-leader-election-capm3 +Lease +capm3-pod holds it`, ns),
		ContainSubstring("2 to fix before the takeover"),
	))
	var list struct{ Items []preflight.Finding }
	g.Expect(json.Unmarshal([]byte(shared.run(t, "preflight", "metal3", "-o", "json").out), &list)).To(Succeed())
	g.Expect(list.Items).To(ContainElement(And(HaveField("Rule", "Lease"), HaveField("Namespace", ns), HaveField("Verdict", preflight.Stops))))
}

func TestPreflightWithoutProvider(t *testing.T) {
	g := NewWithT(t)
	g.Expect(refused(t, "preflight", "vsphere")).To(HavePrefix("no provider of vsphere"))
	g.Expect(refused(t, "preflight", "vsphere", "harvester")).To(HavePrefix("no provider of harvester, vsphere"))
	g.Expect(refused(t, "preflight", "vmware")).To(ContainSubstring("choose one of"))
	g.Expect(refused(t, "preflight", "-o", "wide")).To(ContainSubstring("invalid output format"))
}

func TestPreflightMissingPermissions(t *testing.T) {
	g, ns := NewWithT(t), own(t)
	as := user(t, ns, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}})
	g.Expect(refused(t, "preflight", "metal3", as)).To(And(
		ContainSubstring("list customresourcedefinitions.apiextensions.k8s.io in all namespaces"), ContainSubstring("list metal3machines.infrastructure.cluster.x-k8s.io in all namespaces"),
		ContainSubstring("list baremetalhosts.metal3.io in all namespaces")))
	g.Expect(refused(t, "preflight", "harvester-load-balancer", as)).To(And(
		ContainSubstring("list ippools.loadbalancer.harvesterhci.io in all namespaces"), ContainSubstring("list configmaps in all namespaces"),
		ContainSubstring("get leases.coordination.k8s.io in namespace kube-system"), Not(ContainSubstring("virtualmachines"))), "a kind that is not installed is not asked for")
}

// Hosts of a cluster, and ConfigMaps from before IPPools existed, do not belong to the provider's kinds.
func TestPreflightReadsRelatedKinds(t *testing.T) {
	g, ns := NewWithT(t), own(t)
	create := func(object map[string]any) {
		o := &unstructured.Unstructured{Object: object}
		g.Expect(shared.client.Create(t.Context(), o)).To(Succeed())
		t.Cleanup(func() { g.Expect(shared.client.Delete(context.Background(), o)).To(Succeed()) })
	}
	create(map[string]any{"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": map[string]any{
		"namespace": ns, "name": "h", "annotations": map[string]any{"baremetalhost.metal3.io/detached": ""},
	}})
	g.Expect(shared.run(t, "preflight", "metal3").out).To(MatchRegexp(`Changes +metal3 +BareMetalHost %s/h +Hosts +it has the annotation`, ns))

	for _, name := range []string{"kubevip", "other"} {
		create(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "kube-system", "name": name},
			"data": map[string]any{"cidr-prod": "10.9.0.0/24"}})
	}
	create(map[string]any{"apiVersion": "loadbalancer.harvesterhci.io/v1beta1", "kind": "IPPool", "metadata": map[string]any{"name": "broken"},
		"spec": map[string]any{"ranges": []any{map[string]any{"subnet": "10.0.0.0", "gateway": ""}}}})
	got := shared.run(t, "preflight", "harvester-load-balancer", "-o", "yaml")
	var list struct{ Items []preflight.Finding }
	g.Expect(yaml.Unmarshal([]byte(got.out), &list)).To(Succeed(), got.err)
	g.Expect(list.Items).To(ConsistOf(
		And(HaveField("Rule", "ConfigMap"), HaveField("Name", "kubevip"), HaveField("Message", ContainSubstring("is converted to the IPPools prod"))),
		And(HaveField("Rule", "Refused"), HaveField("Name", "broken"), HaveField("Field", "spec.ranges[0]"), HaveField("Verdict", preflight.Check))))
	g.Expect(got.code).To(Equal(0), "nothing stops")
}
