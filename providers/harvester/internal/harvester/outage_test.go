// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvester_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
)

// proxy is a proxy to the Harvester of the tests. While it is broken, it resets connections. Each connection has its own port.
type proxy struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	broken bool
	open   map[*net.TCPConn]struct{}
}

// newProxy returns a proxy and a kubeconfig that uses it.
func newProxy(w *fixture) (*proxy, []byte) {
	w.t.Helper()
	kubeconfig, err := clientcmd.Load(sim.Kubeconfig())
	w.Expect(err).NotTo(HaveOccurred())
	listener, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = listener.Close() })
	r := &proxy{listener: listener, open: map[*net.TCPConn]struct{}{}}
	for _, cluster := range kubeconfig.Clusters {
		server, err := url.Parse(cluster.Server)
		w.Expect(err).NotTo(HaveOccurred())
		r.to, cluster.Server = server.Host, "https://"+listener.Addr().String()
	}
	taking, err := clientcmd.Write(*kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.lead(w.t.Context(), conn.(*net.TCPConn))
		}
	}()
	return r, taking
}

func (r *proxy) lead(ctx context.Context, conn *net.TCPConn) {
	if !r.enter(conn) {
		_, _ = conn.Read(make([]byte, 1)) // the client waits for a response when the connection is reset
		_ = conn.SetLinger(0)
		_ = conn.Close()
		return
	}
	there, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.to)
	if err != nil {
		_ = conn.Close()
		return
	}
	go func() { _, _ = io.Copy(there, conn); _ = there.Close() }()
	_, _ = io.Copy(conn, there)
	_ = conn.Close()
}

func (r *proxy) enter(conn *net.TCPConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.broken {
		r.open[conn] = struct{}{}
	}
	return !r.broken
}

func (r *proxy) set(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = broken
	for conn := range r.open {
		_ = conn.SetLinger(0)
		_ = conn.Close()
	}
	clear(r.open)
}

// attempts waits for a number of failed attempts after the current one, and returns their messages. The last one may not have been
// reported yet.
func attempts(w *fixture, many int, current func() *harvester.Problem) (said []string) {
	w.t.Helper()
	var last *harvester.Problem
	w.Eventually(func(g Gomega) {
		if problem := current(); problem != nil && problem != last {
			last, said = problem, append(said, problem.Reason+": "+problem.Message)
		}
		g.Expect(len(said)).To(BeNumerically(">=", many))
	}).Should(Succeed())
	return said
}

func TestOutageBeforeConnectionEnqueuesOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	broken, kubeconfig := newProxy(w)
	broken.set(true)
	w.identity(kubeconfig)
	cluster, machine := w.asker(harvester.Cluster, "c"), w.asker(harvester.Machine, "m")
	for _, who := range []harvester.Requester{cluster, machine} {
		w.Expect(w.waitForProblem(who).Reason).To(Equal(infrav1.HarvesterConnectionFailedReason))
	}
	current := func() *harvester.Problem {
		_, problem := w.connections.Get(t.Context(), w.target, machine)
		return problem
	}
	first := attempts(w, 2, current)
	before := w.enqueuedSoFar(cluster, machine)
	said := append(first, attempts(w, 2, current)...)
	w.Expect(said).To(HaveEach(said[0]), "what is shown is the same each time")
	w.Expect(w.enqueuedSoFar(cluster, machine)).To(Equal(before), "the same message enqueues no asker")

	broken.set(false)
	w.waitForConnection(machine)
	w.Eventually(func() bool { return w.enqueued(cluster) > before[0] && w.enqueued(machine) > before[1] }).Should(BeTrue(), "everybody is woken when it is over")
}

func TestOutageOfConnectionEnqueuesOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	way, kubeconfig := newProxy(w)
	w.identity(kubeconfig)
	cluster, machine := w.asker(harvester.Cluster, "c"), w.asker(harvester.Machine, "m")
	conn := w.waitForConnection(machine)
	w.waitForConnection(cluster)
	w.Eventually(func() error {
		return conn.List(t.Context(), &kubevirtv1.VirtualMachineList{}, client.InNamespace(w.namespace))
	}).Should(Succeed())

	way.set(true)
	first := attempts(w, 2, conn.Stale)
	before := w.enqueuedSoFar(cluster, machine)
	said := append(first, attempts(w, 2, conn.Stale)...)
	w.Expect(said).To(HaveEach(said[0]), "what is shown is the same each time")
	w.Expect(w.enqueuedSoFar(cluster, machine)).To(Equal(before), "the same message enqueues no asker")

	way.set(false)
	w.Eventually(conn.Stale).Should(BeZero())
	w.Eventually(func() bool { return w.enqueued(cluster) > before[0] && w.enqueued(machine) > before[1] }).Should(BeTrue(), "everybody is woken when it is over")
}
