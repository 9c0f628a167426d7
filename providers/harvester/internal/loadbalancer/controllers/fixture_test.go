// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

// fixture is the share of the API server of one test.
type fixture struct {
	*WithT
	t    *testing.T
	name string // namespace, and prefix of the names of pools
	stop func()
	// config is that of the manager, if it differs from that of the tests.
	config *rest.Config
}

// subnets counts pools: each has its own addresses.
var subnets atomic.Int32

// newFixture creates a namespace and starts a manager.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := emptyFixture(t)
	w.start(nil)
	return w
}

// emptyFixture creates a namespace.
func emptyFixture(t *testing.T) *fixture {
	t.Helper()
	return fixtureIn(t, integration.NewNamespace(t, user))
}

func fixtureIn(t *testing.T, namespace string) *fixture {
	t.Helper()
	return &fixture{WithT: integration.NewGomega(t), t: t, name: namespace}
}

// start runs a manager until stop or the end of the test. adjust may be nil.
func (w *fixture) start(adjust func(*controllers.LoadBalancerReconciler)) {
	w.t.Helper()
	w.stop = w.run(ctrl.Options{}, adjust)
}

func (w *fixture) run(options ctrl.Options, adjust func(*controllers.LoadBalancerReconciler)) (stop func()) {
	w.t.Helper()
	options.Scheme, options.Cache = scheme, manager.CacheOptions(w.name, w.name)
	return integration.Start(w.t, cmp.Or(w.config, apiServer), user.RESTMapper(), options, func(ctx context.Context, mgr ctrl.Manager) error {
		r := &controllers.LoadBalancerReconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Addresses: ipam.NewAllocator(mgr.GetClient(), mgr.GetAPIReader()),
			Health: health.New(16, nil), Recorder: &events.FakeRecorder{},
		}
		if adjust != nil {
			adjust(r)
		}
		return r.SetupWithManager(ctx, mgr, watch.Concurrency(4))
	})
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name}
}

func (w *fixture) create(o client.Object) {
	w.t.Helper()
	w.Expect(user.Create(w.t.Context(), o)).To(Succeed())
}

func (w *fixture) get(o client.Object) error {
	return user.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
}

// waitForDeletion waits until an object no longer exists.
func (w *fixture) waitForDeletion(o client.Object) {
	w.t.Helper()
	w.Eventually(func() error { return client.IgnoreNotFound(w.get(o)) }).Should(Succeed())
	w.Eventually(func() error { return w.get(o) }).Should(MatchError(ContainSubstring("not found")))
}

// change changes an object, retrying on conflict.
func change[T client.Object](w *fixture, o T, how func(T)) {
	w.t.Helper()
	integration.Update(integration.User{T: w.t, G: w.WithT, Client: user}, o, integration.Whole, how)
}

// pool creates a pool with a number of addresses for the load balancers of the test's namespace.
func (w *fixture) pool(name string, addresses int, changes ...func(*lbv1.IPPool)) *lbv1.IPPool {
	w.t.Helper()
	n := subnets.Add(1)
	prefix := fmt.Sprintf("10.%d.%d.", 100+n/250, n%250)
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + name}, Spec: lbv1.IPPoolSpec{
		Ranges:   []lbv1.Range{{Subnet: prefix + "0/24", Gateway: prefix + "1", RangeStart: prefix + "10", RangeEnd: fmt.Sprintf("%s%d", prefix, 9+addresses)}},
		Selector: lbv1.Selector{Scope: []lbv1.Tuple{{Project: "*", Namespace: w.name, GuestCluster: "*"}}},
	}}
	for _, each := range changes {
		each(pool)
	}
	w.create(pool)
	return pool
}

// first returns the n-th address after the first one of a pool.
func first(pool *lbv1.IPPool, n int) string {
	start := pool.Spec.Ranges[0].RangeStart
	return fmt.Sprintf("%s.%d", start[:strings.LastIndex(start, ".")], 10+n)
}

// allocated returns the holders of a pool's addresses, by address.
func (w *fixture) allocated(pool *lbv1.IPPool) map[string]string {
	w.t.Helper()
	w.Expect(w.get(pool)).To(Succeed())
	return pool.Status.Allocated
}

// holder returns the holder id of a load balancer.
func (w *fixture) holder(name string) string { return w.name + "/" + name }

// balancer creates a load balancer for virtual machines with the label app: web, on port 80, from any pool.
func (w *fixture) balancer(name string, changes ...func(*lbv1.LoadBalancer)) *lbv1.LoadBalancer {
	w.t.Helper()
	lb := &lbv1.LoadBalancer{ObjectMeta: w.meta(name), Spec: lbv1.LoadBalancerSpec{
		WorkloadType: lbv1.WorkloadVM, IPAM: lbv1.IPAMPool, BackendServerSelector: map[string][]string{"app": {"web"}},
		Listeners: []lbv1.Listener{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, BackendPort: 8080}},
	}}
	for _, each := range changes {
		each(lb)
	}
	w.create(lb)
	return lb
}

// Modifications of a load balancer.
func forCluster(lb *lbv1.LoadBalancer) {
	lb.Spec = lbv1.LoadBalancerSpec{WorkloadType: lbv1.WorkloadCluster, IPAM: lbv1.IPAMPool}
}

func byDHCP(lb *lbv1.LoadBalancer) { lb.Spec.IPAM = lbv1.IPAMDHCP }

func from(pool *lbv1.IPPool) func(*lbv1.LoadBalancer) {
	return func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = pool.Name }
}

// eventually reads an object and waits until the assertion holds.
func (w *fixture) eventually(o client.Object, holds func(Gomega)) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.get(o)).To(Succeed())
		holds(g)
	}).Should(Succeed(), "%s", described{o})
}

// described formats an object lazily.
type described struct{ client.Object }

func (d described) String() string {
	if lb, ok := d.Object.(*lbv1.LoadBalancer); ok {
		return fmt.Sprintf("%+v, claims %q", lb.Status, lb.Annotations[lbv1.ClaimsAnnotation])
	}
	return ""
}

// waitForMessage waits until the condition Ready of a load balancer is true (if text is "") or false with a message that contains text.
func (w *fixture) waitForMessage(lb *lbv1.LoadBalancer, text string) {
	w.t.Helper()
	w.eventually(lb, func(g Gomega) {
		g.Expect(lb.Status.Conditions).To(HaveLen(1))
		c := lb.Status.Conditions[0]
		g.Expect(c.Type).To(Equal(lbv1.ReadyCondition))
		if text == "" {
			g.Expect(c.Status).To(Equal(corev1.ConditionTrue), c.Message)
			g.Expect(c.Message).To(BeEmpty())
			return
		}
		g.Expect(c.Status).To(Equal(corev1.ConditionFalse))
		g.Expect(c.Message).To(ContainSubstring(text))
	})
}

// service waits for the Service of a load balancer.
func (w *fixture) service(lb *lbv1.LoadBalancer) *corev1.Service {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: w.meta(lb.Name)}
	w.eventually(service, func(Gomega) {})
	return service
}

// announce simulates kube-vip, which announces a Service at an address.
func (w *fixture) announce(service *corev1.Service, address string) {
	w.t.Helper()
	integration.Update(integration.User{T: w.t, G: w.WithT, Client: user}, service, integration.Status, func(service *corev1.Service) {
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	})
}

// endpoints returns the endpoints of a load balancer in a family, with their readiness.
func (w *fixture) endpoints(lb *lbv1.LoadBalancer, family discoveryv1.AddressType) map[string]bool {
	w.t.Helper()
	all := map[string]bool{}
	for _, slice := range w.slices(lb) {
		if slice.AddressType != family {
			continue
		}
		for _, e := range slice.Endpoints {
			all[e.Addresses[0]] = *e.Conditions.Ready
		}
	}
	return all
}

func (w *fixture) slices(lb *lbv1.LoadBalancer) []discoveryv1.EndpointSlice {
	w.t.Helper()
	list := &discoveryv1.EndpointSliceList{}
	w.Expect(user.List(w.t.Context(), list, client.InNamespace(w.name), client.MatchingLabels{discoveryv1.LabelServiceName: lb.Name})).To(Succeed())
	return list.Items
}

// waitForBackends waits until the load balancer has these IPv4 endpoints.
func (w *fixture) waitForBackends(lb *lbv1.LoadBalancer, wanted map[string]bool) {
	w.t.Helper()
	w.Eventually(func() map[string]bool { return w.endpoints(lb, discoveryv1.AddressTypeIPv4) }).Should(Equal(wanted))
}

// machine creates a running instance with the label app: web.
func (w *fixture) machine(name string, addresses ...string) *kubevirtv1.VirtualMachineInstance {
	w.t.Helper()
	vmi := &kubevirtv1.VirtualMachineInstance{ObjectMeta: w.meta(name)}
	vmi.Labels = map[string]string{"app": "web", "tier": "front"}
	vmi.Status.Phase = kubevirtv1.Running
	vmi.Status.Interfaces = interfaces(addresses)
	w.create(vmi)
	return vmi
}

func interfaces(addresses []string) []kubevirtv1.VirtualMachineInstanceNetworkInterface {
	if len(addresses) == 0 {
		return nil
	}
	return []kubevirtv1.VirtualMachineInstanceNetworkInterface{{Name: "nic-1", IP: addresses[0], IPs: addresses}}
}

// kubevirtInstance is a shorter name.
type kubevirtInstance = kubevirtv1.VirtualMachineInstance

// kubeVIP simulates kube-vip until the test ends, for all Services of the namespace: it announces each at the requested address, and
// fails the test if a Service has no endpoint at that moment.
func (w *fixture) kubeVIP() {
	w.t.Helper()
	events, err := user.Watch(w.t.Context(), &corev1.ServiceList{}, client.InNamespace(w.name))
	w.Expect(err).NotTo(HaveOccurred())
	done := make(chan struct{})
	w.t.Cleanup(func() {
		events.Stop()
		<-done
	})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			if service, ok := event.Object.(*corev1.Service); ok && w.t.Context().Err() == nil {
				w.announceAsAsked(service)
			}
		}
	}()
}

func (w *fixture) announceAsAsked(service *corev1.Service) {
	asked, has := service.Spec.LoadBalancerIP, service.Status.LoadBalancer.Ingress
	if asked == "" || !service.DeletionTimestamp.IsZero() || len(has) > 0 && has[0].IP == asked {
		return
	}
	slices := &discoveryv1.EndpointSliceList{}
	err := user.List(w.t.Context(), slices, client.InNamespace(w.name), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err == nil && len(slices.Items) == 0 && w.get(service) == nil && service.DeletionTimestamp.IsZero() {
		w.t.Errorf("Service %s leads nowhere", service.Name)
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: asked}}
	_ = user.Status().Update(w.t.Context(), service) // a conflict is followed by an event
}
