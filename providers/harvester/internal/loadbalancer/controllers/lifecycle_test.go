// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
)

func TestAddressIsReleasedAfterServiceDeletion(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 1)
	lb := w.balancer("lb")
	service := w.service(lb)
	change(w, service, func(service *corev1.Service) { service.Finalizers = []string{"example.com/held"} })
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForMessage(lb, "waiting for the deletion of Service "+w.name+"/lb with finalizers [example.com/held]")
	next := w.balancer("next", forCluster)
	w.waitForMessage(next, "no available IP")
	w.Expect(w.allocated(pool)).To(Equal(map[string]string{first(pool, 0): w.holder("lb")}))
	change(w, service, func(service *corev1.Service) { service.Finalizers = nil })
	w.waitForDeletion(lb)
	w.waitForMessage(next, "")
	w.Expect(w.slices(lb)).To(BeEmpty())
}

func TestLoadBalancerDeletionWithoutPool(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 1)
	lb := w.balancer("lb")
	w.service(lb)
	w.Expect(user.Delete(t.Context(), pool)).To(Succeed())
	w.waitForDeletion(pool)
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForDeletion(lb)
}

// failing fails the release of addresses while it is set.
type failing struct {
	controllers.Addresses
	fails atomic.Bool
}

func (f *failing) Release(ctx context.Context, pool, id string) error {
	if f.fails.Load() {
		return errors.New("out of order")
	}
	return f.Addresses.Release(ctx, pool, id)
}

func TestFailedReleaseBlocksDeletion(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	f := &failing{}
	f.fails.Store(true)
	w.start(func(r *controllers.LoadBalancerReconciler) { f.Addresses, r.Addresses = r.Addresses, f })
	pool := w.pool("a", 1)
	lb := w.balancer("lb", forCluster)
	w.waitForMessage(lb, "")
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForMessage(lb, "releasing the address of IPPool "+pool.Name+" failed: out of order")
	f.fails.Store(false)
	w.waitForDeletion(lb)
	w.Expect(w.allocated(pool)).To(BeEmpty())
}

func TestForeignServiceIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 1)
	foreign := &corev1.Service{ObjectMeta: w.meta("lb"), Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "own", Port: 443}}, Selector: map[string]string{"app": "own"},
	}}
	w.create(foreign)
	lb := w.balancer("lb")
	w.waitForMessage(lb, "Service "+w.name+"/lb was not created for this load balancer: delete it")
	w.Expect(w.get(foreign)).To(Succeed())
	w.Expect(foreign.Spec.Ports[0].Name).To(Equal("own"))
	w.Expect(foreign.Labels).To(BeEmpty())
	w.Expect(w.slices(lb)).To(BeEmpty(), "its traffic goes where it went")

	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForDeletion(lb)
	w.Expect(w.get(foreign)).To(Succeed(), "it stays when the load balancer goes")
	w.Expect(w.allocated(pool)).To(BeEmpty())

	again := w.balancer("lb")
	w.waitForMessage(again, "was not created for this load balancer")
	w.Expect(user.Delete(t.Context(), foreign)).To(Succeed())
	w.waitForMessage(again, "service is waiting for external IP")
	w.Expect(w.service(again).Spec.LoadBalancerIP).To(Equal(first(pool, 0)))
}

func TestForeignEndpointSliceIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.pool("a", 1)
	foreign := &discoveryv1.EndpointSlice{ObjectMeta: w.meta("lb"), AddressType: discoveryv1.AddressTypeFQDN, Endpoints: []discoveryv1.Endpoint{
		{Addresses: []string{"example.com"}},
	}}
	w.create(foreign)
	lb := w.balancer("lb")
	w.waitForMessage(lb, "EndpointSlice "+w.name+"/lb was not created for this load balancer")
	w.Expect(user.Delete(t.Context(), foreign)).To(Succeed())
	w.waitForMessage(lb, "service is waiting for external IP")
}

func TestExistingServiceAndEndpointSliceAreAdopted(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	pool := w.pool("a", 1)
	labels := map[string]string{lbv1.ServiceLabel: "true", "example.com/cluster": "c"}
	service := &corev1.Service{ObjectMeta: w.meta("lb"), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	service.Labels, service.Annotations = labels, map[string]string{"kube-vip.io/allow-reconcile-without-endpoints": "true"}
	w.create(service)
	lb := w.balancer("lb")
	slice := &discoveryv1.EndpointSlice{ObjectMeta: w.meta("lb"), AddressType: discoveryv1.AddressTypeIPv4}
	slice.Labels = map[string]string{lbv1.ServiceLabel: "true", discoveryv1.LabelServiceName: "lb", "example.com/cluster": "c"}
	slice.OwnerReferences = []metav1.OwnerReference{{APIVersion: lbv1.GroupVersion.String(), Kind: "LoadBalancer", Name: "lb", UID: lb.UID}}
	w.create(slice)
	w.start(nil)
	w.eventually(service, func(g Gomega) { g.Expect(service.Spec.LoadBalancerIP).To(Equal(first(pool, 0))) })
	w.Expect(service.Labels).To(Equal(labels))
	w.Expect(service.Annotations).To(HaveLen(1))
	w.waitForBackends(lb, map[string]bool{"10.52.0.255": true})
	w.eventually(slice, func(g Gomega) { g.Expect(slice.Labels).To(HaveKey("example.com/cluster")) })
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForDeletion(lb)
	w.waitForDeletion(service)
}

func TestServiceIsRestored(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 1)
	w.kubeVIP()
	w.machine("vm-1", "192.168.1.5")
	lb := w.balancer("lb")
	w.waitForMessage(lb, "")
	service := w.service(lb)
	change(w, service, func(service *corev1.Service) { service.Spec.Selector = map[string]string{"app": "other"} })
	w.eventually(service, func(g Gomega) { g.Expect(service.Spec.Selector).To(BeEmpty()) })
	uid := service.UID
	w.Expect(user.Delete(t.Context(), service)).To(Succeed())
	w.Eventually(func(g Gomega) {
		g.Expect(w.get(service)).To(Succeed())
		g.Expect(service.UID).NotTo(Equal(uid))
	}).Should(Succeed())
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.Address).To(Equal(first(pool, 0)))
	slice := w.slices(lb)[0]
	w.Expect(user.Delete(t.Context(), &slice)).To(Succeed())
	w.waitForBackends(lb, map[string]bool{"192.168.1.5": true})
}

// stripping is a client of an API server with a policy that removes the owners of Services and EndpointSlices.
type stripping struct {
	client.Client
	services *atomic.Int32 // the number of writes of Services
}

func (c stripping) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := c.Client.Patch(ctx, o, p, opts...); err != nil {
		return err
	}
	switch o.(type) {
	case *corev1.Service:
		c.services.Add(1)
	case *discoveryv1.EndpointSlice:
	default:
		return nil
	}
	before := o.DeepCopyObject().(client.Object)
	o.SetOwnerReferences(nil)
	return c.Client.Patch(ctx, o, client.MergeFrom(before))
}

func TestAServiceWhoseOwnerAPolicyRemovesKeepsItsTrafficAndIsNotWrittenAllTheTime(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	w.pool("a", 1)
	w.kubeVIP()
	w.machine("vm-1", "192.168.1.5")
	service := &corev1.Service{ObjectMeta: w.meta("lb"), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	service.Labels, service.Annotations = map[string]string{lbv1.ServiceLabel: "true"}, map[string]string{"kube-vip.io/allow-reconcile-without-endpoints": "true"}
	w.create(service)
	lb := w.balancer("lb")
	sent, recorder := &atomic.Int32{}, events.NewFakeRecorder(100)
	w.start(func(r *controllers.LoadBalancerReconciler) {
		r.Client, r.Recorder = stripping{r.Client, sent}, recorder
	})
	w.waitForMessage(lb, "")
	w.Consistently(sent.Load, "2s").Should(BeNumerically("<=", 12), "pauses between writes grow")
	w.Expect(recorder.Events).To(Receive(ContainSubstring("does not store the owner reference LoadBalancer lb of Service lb")))
	w.machine("vm-2", "192.168.1.6")
	w.waitForBackends(lb, map[string]bool{"192.168.1.5": true, "192.168.1.6": true})
}

func TestAPausedLoadBalancerIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 4)
	pause := func(lb *lbv1.LoadBalancer) { lb.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} }
	paused := w.balancer("paused", forCluster, pause)
	other := w.balancer("other", forCluster)
	w.waitForMessage(other, "")
	w.Expect(w.get(paused)).To(Succeed())
	w.Expect(paused.Status.Conditions).To(BeEmpty())
	change(w, paused, func(lb *lbv1.LoadBalancer) { lb.Annotations = nil })
	w.waitForMessage(paused, "")
	change(w, paused, pause)
	w.Expect(user.Delete(t.Context(), paused)).To(Succeed())
	w.Expect(user.Delete(t.Context(), other)).To(Succeed())
	w.waitForDeletion(other)
	w.Expect(w.allocated(pool)).To(HaveLen(1))
	change(w, paused, func(lb *lbv1.LoadBalancer) { lb.Annotations = nil })
	w.waitForDeletion(paused)
}

func TestRejectedServiceIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.pool("a", 4)
	lb := w.balancer("lb", func(lb *lbv1.LoadBalancer) { lb.Spec.Listeners = append(lb.Spec.Listeners, lb.Spec.Listeners[0]) })
	w.waitForMessage(lb, "spec.listeners[1].name: Duplicate value")
	w.Expect(lb.Status.AllocatedAddress.IP).To(BeEmpty())
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.Listeners = lb.Spec.Listeners[:1] })
	w.waitForMessage(lb, "service is waiting for external IP")
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.Listeners = append(lb.Spec.Listeners, lb.Spec.Listeners[0]) })
	w.waitForMessage(lb, "the API server rejects")
	w.Expect(w.service(lb).Spec.Ports).To(HaveLen(1))
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.Listeners = lb.Spec.Listeners[:1] })
	w.waitForMessage(lb, "service is waiting for external IP")
}

// own returns an address of this host that machines could have.
func own(t *testing.T) netip.Addr {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr()
		}
	}
	t.Skip("this host has no address but its loopback's")
	return netip.Addr{}
}

func TestOnlyHealthyMachinesGetTraffic(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.pool("a", 4)
	w.kubeVIP()
	address := own(t).String()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	w.Expect(err).NotTo(HaveOccurred())
	port := listener.Addr().(*net.TCPAddr).Port
	w.machine("vm-1", address)
	lb := w.balancer("lb", func(lb *lbv1.LoadBalancer) {
		lb.Spec.Listeners[0].BackendPort = int32(port)
		lb.Spec.HealthCheck = &lbv1.HealthCheck{Port: uint(port), SuccessThreshold: 1, FailureThreshold: 2, PeriodSeconds: 1, TimeoutSeconds: 1}
	})
	w.waitForMessage(lb, "")
	w.waitForBackends(lb, map[string]bool{address: true})
	w.Expect(listener.Close()).To(Succeed())
	w.waitForMessage(lb, "running backend servers are not probed as healthy total:1, healthy:0")
	w.waitForBackends(lb, map[string]bool{address: false, "10.52.0.255": true})
	w.Expect(lb.Status.BackendServers).To(Equal([]string{address}))
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.HealthCheck = nil })
	w.waitForMessage(lb, "")
	w.waitForBackends(lb, map[string]bool{address: true})
}

func TestHealthSurvivesRestart(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	pool := w.pool("a", 4)
	machine := w.machine("vm-1", "192.0.2.1") // unused address
	lb := w.balancer("lb", func(lb *lbv1.LoadBalancer) {
		lb.Spec.HealthCheck = &lbv1.HealthCheck{Port: 8080, SuccessThreshold: 1, FailureThreshold: 1000, PeriodSeconds: 5, TimeoutSeconds: 5}
	})
	slice := &discoveryv1.EndpointSlice{ObjectMeta: w.meta("lb"), AddressType: discoveryv1.AddressTypeIPv4}
	slice.Labels = map[string]string{lbv1.ServiceLabel: "true", discoveryv1.LabelServiceName: "lb"}
	ready := true
	slice.Endpoints = []discoveryv1.Endpoint{{
		Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		TargetRef: &corev1.ObjectReference{Namespace: w.name, Name: "vm-1", UID: machine.UID},
	}}
	w.create(slice)
	w.kubeVIP()
	w.start(nil)
	w.waitForMessage(lb, "")
	w.waitForBackends(lb, map[string]bool{"192.0.2.1": true})
	w.Expect(lb.Status.Address).To(Equal(first(pool, 0)))
	w.Expect(client.IgnoreNotFound(w.get(slice))).To(Succeed())
}
