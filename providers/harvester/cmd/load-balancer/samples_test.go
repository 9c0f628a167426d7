// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// proposal is the page that introduced load balancers, next to the repository.
var proposal = filepath.Join("..", "..", "..", "..", "..", "shared", "proposals", "harvester-cloud-provider.md")

// samples are the samples of the proposal. The manager must produce their status.
type samples struct {
	*WithT
	t *testing.T
	c client.Client
	// shown are the samples as written, by name.
	shown map[string]*unstructured.Unstructured
}

// testSamples applies the samples of the proposal verbatim, without their status, reproduces the history that the status shows, and
// compares. Rancher has put their namespace into the project that they name.
func testSamples(t *testing.T, c client.Client) {
	t.Helper()
	if _, err := os.Stat(proposal); errors.Is(err, fs.ErrNotExist) {
		t.Run("skipped: ../shared/proposals does not exist", func(t *testing.T) { t.Skip() })
		return
	}
	s := &samples{WithT: integration.NewGomega(t), t: t, c: c, shown: map[string]*unstructured.Unstructured{}}
	for _, sample := range rulestest.Shown(t, proposal) {
		s.shown[sample.GetName()] = sample
	}
	s.Expect(s.shown).To(HaveLen(4))
	s.inProject("local:p-hl965")
	defer s.inProject("")
	machine := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", Labels: map[string]string{"demo": "demo"}}}
	machine.Status.Phase = kubevirtv1.Running
	machine.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{{IP: "192.168.100.100", IPs: []string{"192.168.100.100"}}}
	s.Expect(c.Create(t.Context(), machine)).To(Succeed())
	for _, pool := range []string{"vlan-awareness-pool", "vlan100-pool"} {
		s.apply(pool, pool)
	}
	s.forMachines()
	s.forGuestClusters()
	for _, name := range []string{"lb1", "kubernetes-default-nginx-lb-3-3be238b0", "kubernetes-default-lb20-e99740b0"} {
		s.gone(name)
	}
	for _, pool := range []string{"vlan-awareness-pool", "vlan100-pool"} {
		s.Expect(c.Delete(t.Context(), &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: pool}})).To(Succeed())
	}
}

// inProject puts the namespace into a project as Rancher does, "" for none.
func (s *samples) inProject(project string) {
	s.t.Helper()
	namespace := &corev1.Namespace{}
	s.Expect(s.c.Get(s.t.Context(), client.ObjectKey{Name: "default"}, namespace)).To(Succeed())
	before := namespace.DeepCopy()
	if metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, "field.cattle.io/projectId", project); project == "" {
		delete(namespace.Annotations, "field.cattle.io/projectId")
	}
	s.Expect(s.c.Patch(s.t.Context(), namespace, client.MergeFrom(before))).To(Succeed())
}

// apply creates a sample under another name of its kind.
func (s *samples) apply(sample, name string) {
	s.t.Helper()
	object := s.shown[sample].DeepCopy()
	unstructured.RemoveNestedField(object.Object, "status")
	object.SetName(name)
	s.Eventually(func() error { // the manager's webhooks are served once it has started
		return s.c.Create(s.t.Context(), object, client.FieldValidation("Strict"))
	}).Should(Succeed())
}

// has waits until a load balancer has an address. It simulates kube-vip for a load balancer with machines.
func (s *samples) has(name, address string) {
	s.t.Helper()
	lb := &lbv1.LoadBalancer{}
	s.Eventually(func(g Gomega) {
		g.Expect(s.c.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, lb)).To(Succeed())
		g.Expect(lb.Status.AllocatedAddress.IP).To(Equal(address), "%+v", lb.Status)
	}).Should(Succeed())
	if lb.Spec.WorkloadType == lbv1.WorkloadCluster {
		return
	}
	service := &corev1.Service{}
	s.Eventually(func() error {
		err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(lb), service)
		if err != nil {
			return err
		}
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: service.Spec.LoadBalancerIP}}
		return s.c.Status().Update(s.t.Context(), service)
	}).Should(Succeed())
}

// gone deletes a load balancer and waits for its deletion. There is no garbage collector.
func (s *samples) gone(name string) {
	s.t.Helper()
	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	s.Expect(s.c.Delete(s.t.Context(), lb)).To(Succeed())
	s.Eventually(func() bool {
		return apierrors.IsNotFound(s.c.Get(s.t.Context(), client.ObjectKeyFromObject(lb), lb))
	}).Should(BeTrue())
}

// forMachines reproduces the history of the first pool: lb1 had the first address, lb-3 the second, and after both were deleted lb1 was
// recreated.
func (s *samples) forMachines() {
	s.t.Helper()
	s.apply("lb1", "lb1")
	s.has("lb1", "172.16.231.10")
	s.apply("lb1", "lb-3")
	s.has("lb-3", "172.16.231.11")
	s.gone("lb-3")
	s.gone("lb1")
	s.apply("lb1", "lb1")
	s.has("lb1", "172.16.231.10")
	s.becomes(&lbv1.LoadBalancer{}, "lb1")
	s.becomes(&lbv1.IPPool{}, "vlan-awareness-pool")
}

// forGuestClusters reproduces the history of the second pool.
func (s *samples) forGuestClusters() {
	s.t.Helper()
	shown := "kubernetes-default-nginx-lb-3-3be238b0"
	for _, each := range []struct{ name, address string }{
		{"kubernetes-default-nginx-lb-cwa-af13e48f", "192.168.41.2"}, {"kubernetes-default-nginx-lb-3-9d7d8a7a", "192.168.41.3"},
		{shown, "192.168.41.4"}, {"kubernetes-default-lb20-e99740b0", "192.168.41.5"},
	} {
		s.apply(shown, each.name)
		s.has(each.name, each.address)
	}
	s.gone("kubernetes-default-nginx-lb-cwa-af13e48f")
	s.gone("kubernetes-default-nginx-lb-3-9d7d8a7a")
	s.gone(shown)
	s.apply(shown, shown)
	s.has(shown, "192.168.41.4")
	s.announced(shown, "192.168.41.4")
	s.becomes(&lbv1.LoadBalancer{}, shown)
	s.becomes(&lbv1.IPPool{}, "vlan100-pool")
}

// announced simulates the cloud provider of a guest cluster, which reports the announced address.
func (s *samples) announced(name, address string) {
	s.t.Helper()
	said := []byte(`{"status":{"address":"` + address + `"}}`)
	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	s.Expect(s.c.Patch(s.t.Context(), lb, client.RawPatch("application/merge-patch+json", said))).To(Succeed())
}

// becomes waits until the status, labels and annotations of an object match its sample, except for the times of conditions. The proposal
// has a single machine in place of the list of machines.
func (s *samples) becomes(object client.Object, name string) {
	s.t.Helper()
	want := s.shown[name].DeepCopy()
	status := want.Object["status"].(map[string]any)
	if machine, ok := status["backendServers"].(string); ok {
		status["backendServers"] = []any{machine}
	}
	object.SetNamespace(want.GetNamespace())
	object.SetName(name)
	s.Eventually(func(g Gomega) {
		g.Expect(s.c.Get(s.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
		got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		g.Expect(err).NotTo(HaveOccurred())
		is := got["status"].(map[string]any)
		g.Expect(withoutTimes(is)).To(Equal(withoutTimes(status)))
		for key, value := range want.GetLabels() {
			g.Expect(object.GetLabels()).To(HaveKeyWithValue(key, value))
		}
		for key, value := range want.GetAnnotations() {
			g.Expect(object.GetAnnotations()).To(HaveKeyWithValue(key, value))
		}
	}).Should(Succeed(), name)
}

// withoutTimes returns a status whose conditions have only type and status.
func withoutTimes(status map[string]any) map[string]any {
	var conditions []any
	for _, c := range status["conditions"].([]any) {
		c := c.(map[string]any)
		conditions = append(conditions, map[string]any{"type": c["type"], "status": c["status"]})
	}
	status["conditions"] = conditions
	return status
}
