// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
)

const timeout = 2 * time.Minute

func TestCheckDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	check, wanted := health.Of(&lbv1.HealthCheck{Port: 80})
	g.Expect(wanted).To(BeTrue())
	g.Expect(check).To(Equal(health.Check{Port: 80, Successes: 1, Failures: 3, Period: 5 * time.Second, Timeout: 3 * time.Second}))
	check, wanted = health.Of(&lbv1.HealthCheck{Port: 80, SuccessThreshold: 2, FailureThreshold: 4, PeriodSeconds: 30, TimeoutSeconds: 60})
	g.Expect(wanted).To(BeTrue())
	g.Expect(check).To(Equal(health.Check{Port: 80, Successes: 2, Failures: 4, Period: 30 * time.Second, Timeout: time.Minute}))
	for _, none := range []*lbv1.HealthCheck{nil, {}, {PeriodSeconds: 3}, {Port: 70000}} {
		_, wanted = health.Of(none)
		g.Expect(wanted).To(BeFalse(), "%+v", none)
	}
}

// quick is a check with short intervals.
func quick(port uint16) health.Check {
	return health.Check{Port: port, Successes: 1, Failures: 2, Period: 20 * time.Millisecond, Timeout: 50 * time.Millisecond}
}

var web = types.NamespacedName{Namespace: "default", Name: "web"}

// fixture is a Checker that runs until the test ends, and the controller that it enqueues for.
type fixture struct {
	*WithT
	t *testing.T
	*health.Checker
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	registry *prometheus.Registry
	stop     func()
	// check and asked are the arguments of the last set.
	check health.Check
	asked map[netip.Addr]health.Machine
}

// set calls Set with machines in the given states.
func (r *fixture) set(of types.NamespacedName, check health.Check, machines map[netip.Addr]bool) {
	r.check, r.asked = check, map[netip.Addr]health.Machine{}
	for address, healthy := range machines {
		r.asked[address] = health.Machine{ID: "machine", Healthy: healthy}
	}
	r.Set(of, check, r.asked)
}

// healthy returns the states of the machines of the last set.
func (r *fixture) healthy(of types.NamespacedName) map[netip.Addr]bool {
	return r.Set(of, r.check, r.asked)
}

func start(t *testing.T, connections int) *fixture {
	t.Helper()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(timeout)
	g.SetDefaultEventuallyPollingInterval(5 * time.Millisecond)
	registry := prometheus.NewRegistry()
	metrics, err := health.NewMetrics(registry)
	g.Expect(err).NotTo(HaveOccurred())
	r := &fixture{
		WithT: g, t: t, Checker: health.New(connections, metrics), registry: registry,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	t.Cleanup(r.queue.ShutDown)
	g.Expect(r.Source().Start(t.Context(), r.queue)).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		g.Eventually(ended).Should(Receive(Succeed()), "no connection is left when it ends")
	})
	t.Cleanup(r.stop)
	return r
}

// waitForHealth waits until the machines have these states, and expects no others.
func (r *fixture) waitForHealth(of types.NamespacedName, machines map[netip.Addr]bool) {
	r.t.Helper()
	r.Eventually(func() map[netip.Addr]bool { return r.healthy(of) }).Should(Equal(machines))
}

// enqueued takes the enqueued requests.
func (r *fixture) enqueued() []types.NamespacedName {
	var all []types.NamespacedName
	for r.queue.Len() > 0 {
		request, _ := r.queue.Get()
		r.queue.Done(request)
		all = append(all, request.NamespacedName)
	}
	return all
}

// metric returns the sum of the values of a metric.
func (r *fixture) metric(name string) (sum float64) {
	r.t.Helper()
	families, err := r.registry.Gather()
	r.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return sum
}

// listen accepts connections at an address, on the given port or, if 0, a free one.
func listen(t *testing.T, address netip.Addr, port uint16) (uint16, func()) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", netip.AddrPortFrom(address, port).String())
	if err != nil {
		t.Skipf("%s cannot be listened at here: %v", address, err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	end := sync.OnceFunc(func() { _ = l.Close() })
	t.Cleanup(end)
	return netip.MustParseAddrPort(l.Addr().String()).Port(), end
}

// hang makes connections to an address and port time out, by filling the backlog.
func hang(t *testing.T, address netip.Addr, port uint16) {
	t.Helper()
	g := NewWithT(t)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = syscall.Close(fd) })
	g.Expect(syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)).To(Succeed())
	g.Expect(syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(port), Addr: address.As4()})).To(Succeed())
	g.Expect(syscall.Listen(fd, 0)).To(Succeed())
	dialer := net.Dialer{Timeout: 200 * time.Millisecond}
	for {
		conn, err := dialer.DialContext(t.Context(), "tcp", netip.AddrPortFrom(address, port).String())
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func local(n byte) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, n}) }

func TestCheckResults(t *testing.T) {
	t.Parallel()
	r := start(t, 8)
	answers, refuses, hangs := local(11), local(12), local(13)
	port, _ := listen(t, answers, 0)
	hang(t, hangs, port)
	r.set(web, quick(port), map[netip.Addr]bool{answers: false, refuses: true, hangs: true})
	r.waitForHealth(web, map[netip.Addr]bool{answers: true, refuses: false, hangs: false})
	r.Eventually(r.enqueued).Should(ContainElement(web))
	r.Expect(r.metric("harvester_load_balancer_health_checks_total")).To(BeNumerically(">=", 5))
}

func TestAMachineOfIPv6IsChecked(t *testing.T) {
	t.Parallel()
	r := start(t, 2)
	port, _ := listen(t, netip.IPv6Loopback(), 0)
	r.set(web, quick(port), map[netip.Addr]bool{netip.IPv6Loopback(): false})
	r.waitForHealth(web, map[netip.Addr]bool{netip.IPv6Loopback(): true})
}

func TestHealthChangesEnqueue(t *testing.T) {
	t.Parallel()
	r := start(t, 2)
	address := local(21)
	port, end := listen(t, address, 0)
	r.set(web, quick(port), map[netip.Addr]bool{address: false})
	for range 3 {
		r.waitForHealth(web, map[netip.Addr]bool{address: true})
		r.Eventually(r.enqueued).Should(Equal([]types.NamespacedName{web}))
		end()
		r.waitForHealth(web, map[netip.Addr]bool{address: false})
		r.Eventually(r.enqueued).Should(Equal([]types.NamespacedName{web}))
		_, end = listen(t, address, port)
	}
}

func TestUnchangedHealthDoesNotEnqueue(t *testing.T) {
	t.Parallel()
	r := start(t, 2)
	answers, refuses := local(31), local(32)
	port, _ := listen(t, answers, 0)
	r.set(web, quick(port), map[netip.Addr]bool{answers: true, refuses: false})
	r.Eventually(func() float64 { return r.metric("harvester_load_balancer_health_checks_total") }).Should(BeNumerically(">=", 20))
	r.Expect(r.enqueued()).To(BeEmpty())
	r.Expect(r.healthy(web)).To(Equal(map[netip.Addr]bool{answers: true, refuses: false}))
}

func TestRemovedMachineDoesNotEnqueue(t *testing.T) {
	t.Parallel()
	r := start(t, 4)
	hangs, stays := local(41), local(42)
	port, _ := listen(t, stays, 0)
	hang(t, hangs, port)
	check := quick(port)
	check.Failures, check.Timeout = 1, time.Second
	r.set(web, check, map[netip.Addr]bool{hangs: true})
	r.Eventually(func() float64 { return r.metric("harvester_load_balancer_health_checks_in_flight") }).Should(BeNumerically("==", 1))
	r.Remove(web)
	r.Eventually(func() float64 { return r.metric("harvester_load_balancer_health_checks_in_flight") }).Should(BeZero())
	r.Expect(r.enqueued()).To(BeEmpty())
	r.Expect(r.metric("harvester_load_balancer_health_checked_load_balancers")).To(BeZero())
}

func TestMachineKeepsHealthWhenOthersChange(t *testing.T) {
	t.Parallel()
	r := start(t, 4)
	stays, goes, comes := local(51), local(52), local(53)
	port, _ := listen(t, stays, 0)
	slow := quick(port)
	r.set(web, slow, map[netip.Addr]bool{stays: false, goes: false})
	r.waitForHealth(web, map[netip.Addr]bool{stays: true, goes: false})
	r.set(web, slow, map[netip.Addr]bool{stays: false, comes: false}) // as a stale cache shows it
	r.Expect(r.healthy(web)).To(Equal(map[netip.Addr]bool{stays: true, comes: false}))
}

func TestReusedAddressIsNewMachine(t *testing.T) {
	t.Parallel()
	r := start(t, 4)
	address := local(57)
	port, end := listen(t, address, 0)
	r.set(web, quick(port), map[netip.Addr]bool{address: false})
	r.waitForHealth(web, map[netip.Addr]bool{address: true})
	end()
	check := quick(port)
	check.Failures = 1000
	r.Expect(r.Set(web, check, map[netip.Addr]health.Machine{address: {ID: "another"}})).To(Equal(map[netip.Addr]bool{address: false}))
}

func TestChangedCheckApplies(t *testing.T) {
	t.Parallel()
	r := start(t, 4)
	address := local(61)
	one, _ := listen(t, address, 0)
	two, end := listen(t, address, 0)
	r.set(web, quick(two), map[netip.Addr]bool{address: false})
	r.waitForHealth(web, map[netip.Addr]bool{address: true})
	end()
	r.waitForHealth(web, map[netip.Addr]bool{address: false})
	r.set(web, quick(one), map[netip.Addr]bool{address: false})
	r.waitForHealth(web, map[netip.Addr]bool{address: true})
}

func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	r := start(t, 2)
	answers := local(70)
	port, end := listen(t, answers, 0)
	all := map[netip.Addr]bool{answers: false}
	for n := range byte(20) {
		hang(t, local(71+n), port)
		all[local(71+n)] = false
	}
	check := quick(port)
	check.Timeout = time.Second
	r.set(web, check, all)
	// Each of them has timed out once and counts as slow.
	r.Eventually(func() float64 { return r.metric("harvester_load_balancer_health_checks_total") }).Should(BeNumerically(">", 25))
	for range 3 { // a round of timeouts takes twenty seconds with one connection
		r.Eventually(func() bool {
			r.Expect(r.metric("harvester_load_balancer_health_checks_in_flight")).To(BeNumerically("<=", 2))
			return r.healthy(web)[answers]
		}).WithTimeout(10 * time.Second).Should(BeTrue())
		end()
		r.Eventually(func() bool { return r.healthy(web)[answers] }).WithTimeout(10 * time.Second).Should(BeFalse())
		_, end = listen(t, answers, port)
	}
}

func TestACheckerEndsWhileConnectionsHang(t *testing.T) {
	t.Parallel()
	r := start(t, 4)
	port, _ := listen(t, local(101), 0)
	hang(t, local(102), port)
	check := quick(port)
	check.Timeout = time.Hour
	r.set(web, check, map[netip.Addr]bool{local(102): false})
	r.Eventually(func() float64 { return r.metric("harvester_load_balancer_health_checks_in_flight") }).Should(BeNumerically("==", 1))
	r.stop()
}
