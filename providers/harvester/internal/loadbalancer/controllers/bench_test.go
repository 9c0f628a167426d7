// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

// Machines are in groups; each group is behind the same number of load balancers.
const (
	benchBalancers, benchGroups, benchMachines = 1000, 100, 10
	benchRest                                  = 30 * time.Second
)

// BenchmarkLoadBalancers creates 1,000 load balancers at once, with 10 health-checked machines each, and waits until all are ready. Then
// it measures the cost of the checks. All machines are the same listener of this process, which also simulates kube-vip.
func BenchmarkLoadBalancers(b *testing.B) {
	for range b.N {
		w := newBench(b)
		start, used := time.Now(), cpu()
		w.inParallel(benchBalancers, func(i int) error { return user.Create(b.Context(), w.balancer(i)) })
		for w.ready() < benchBalancers {
			wait(100 * time.Millisecond)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s/ready")
		b.ReportMetric(float64((cpu()-used).Milliseconds())/benchBalancers, "CPU-ms/balancer")
		b.ReportMetric(float64(w.requests.Load())/benchBalancers, "requests/balancer")
		before, checks := w.requests.Load(), w.checks.Load()
		used = cpu()
		wait(benchRest)
		b.ReportMetric(float64(w.requests.Load()-before), "requests-at-rest")
		b.ReportMetric(float64(w.checks.Load()-checks)/benchRest.Seconds(), "checks/s")
		b.ReportMetric(100*(cpu()-used).Seconds()/benchRest.Seconds(), "CPU-%-at-rest")
		w.stop()
	}
}

func wait(d time.Duration) { <-time.After(d) }

type bench struct {
	b                *testing.B
	namespace        string
	port             uint16
	requests, checks atomic.Int64
	reader           client.Reader
	stop             func()
}

func newBench(b *testing.B) *bench {
	b.Helper()
	w := &bench{b: b}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	w.must(user.Create(b.Context(), namespace))
	w.namespace = namespace.Name
	w.must(user.Create(b.Context(), &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: lbv1.IPPoolSpec{
		Ranges: []lbv1.Range{{Subnet: "10.200.0.0/16"}}, Selector: lbv1.Selector{Scope: []lbv1.Tuple{{Project: "*", Namespace: w.namespace, GuestCluster: "*"}}},
	}}))
	w.inParallel(benchGroups*benchMachines, func(i int) error {
		vmi := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("vm-%d", i)}}
		vmi.Labels = map[string]string{"group": fmt.Sprintf("g-%d", i%benchGroups)}
		vmi.Status.Phase, vmi.Status.Interfaces = kubevirtv1.Running, interfaces([]string{fmt.Sprintf("192.168.%d.%d", i/250, i%250+1)})
		return user.Create(b.Context(), vmi)
	})
	w.listen()
	w.manage()
	return w
}

func (w *bench) must(err error) {
	w.b.Helper()
	if err != nil {
		w.b.Fatal(err)
	}
}

func (w *bench) inParallel(n int, do func(int) error) {
	w.b.Helper()
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for worker := range errs {
		wg.Go(func() {
			for i := worker; i < n; i += len(errs) {
				errs[worker] = errors.Join(errs[worker], do(i))
			}
		})
	}
	wg.Wait()
	w.must(errors.Join(errs...))
}

func (w *bench) balancer(i int) *lbv1.LoadBalancer {
	return &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("lb-%d", i)}, Spec: lbv1.LoadBalancerSpec{
		WorkloadType: lbv1.WorkloadVM, IPAM: lbv1.IPAMPool, BackendServerSelector: map[string][]string{"group": {fmt.Sprintf("g-%d", i%benchGroups)}},
		Listeners:   []lbv1.Listener{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, BackendPort: 8080}},
		HealthCheck: &lbv1.HealthCheck{Port: 8080, SuccessThreshold: 1, FailureThreshold: 3, PeriodSeconds: 5, TimeoutSeconds: 3},
	}}
}

// ready returns the number of load balancers that are ready with all their machines.
func (w *bench) ready() (n int) {
	list := &lbv1.LoadBalancerList{}
	w.must(w.reader.List(w.b.Context(), list, client.InNamespace(w.namespace)))
	for i := range list.Items {
		if c := list.Items[i].Status.Conditions; len(c) > 0 && c[0].Status == corev1.ConditionTrue && len(list.Items[i].Status.BackendServers) == benchMachines {
			n++
		}
	}
	return n
}

func (w *bench) listen() {
	listener, err := (&net.ListenConfig{}).Listen(w.b.Context(), "tcp", "127.0.0.1:0")
	w.must(err)
	w.b.Cleanup(func() { _ = listener.Close() })
	w.port = uint16(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
}

func (w *bench) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	w.checks.Add(1)
	return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", w.port))
}

// manage runs a manager and counts its requests, separately from those of kube-vip.
func (w *bench) manage() {
	counted := rest.CopyConfig(apiServer)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			w.requests.Add(1)
			return next.RoundTrip(r)
		})
	})
	ctx, cancel := context.WithCancel(w.b.Context())
	var running sync.WaitGroup
	for config, add := range map[*rest.Config]func(ctrl.Manager) error{
		counted: func(mgr ctrl.Manager) error {
			checker := health.New(health.DefaultConnections, nil)
			checker.Dial = w.dial
			return (&controllers.LoadBalancerReconciler{
				Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Addresses: ipam.NewAllocator(mgr.GetClient(), mgr.GetAPIReader()),
				Health: checker, Recorder: &events.FakeRecorder{},
			}).SetupWithManager(ctx, mgr, watch.Concurrency(10))
		},
		apiServer: func(mgr ctrl.Manager) error {
			w.reader = mgr.GetClient()
			return ctrl.NewControllerManagedBy(mgr).For(&corev1.Service{}).WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
				Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
					return announceAt(ctx, mgr.GetClient(), req)
				}))
		},
	} {
		options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.namespace, w.namespace), Controller: manager.ControllerOptions()}
		options.Metrics.BindAddress, options.Controller.SkipNameValidation = "0", ptr.To(true)
		mgr, err := ctrl.NewManager(config, options)
		w.must(err)
		w.must(add(mgr))
		running.Go(func() { _ = mgr.Start(ctx) })
	}
	w.stop = func() {
		cancel()
		running.Wait()
	}
}

// announceAt simulates kube-vip for a Service.
func announceAt(ctx context.Context, c client.Client, req ctrl.Request) (ctrl.Result, error) {
	service := &corev1.Service{}
	if err := c.Get(ctx, req.NamespacedName, service); err != nil || len(service.Status.LoadBalancer.Ingress) > 0 {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: service.Spec.LoadBalancerIP}}
	return ctrl.Result{}, c.Status().Update(ctx, service)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// cpu returns the CPU time of the process.
func cpu() time.Duration {
	usage := syscall.Rusage{}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
