//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/gomega"
)

const (
	askEvery   = 200 * time.Millisecond
	askTimeout = time.Second
)

// lookUp queries a DNS server at an address, over tcp or udp, each time with a new connection.
func lookUp(ctx context.Context, network, address, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(address, "53"))
	}}
	return resolver.LookupNetIP(ctx, "ip4", name+".default.svc.cluster.local.")
}

// dnsClient queries an address continuously and records the times of the answers.
type dnsClient struct {
	stop func()

	mu       sync.Mutex
	answered []time.Time
}

// startDNSClient sends a query every 200 milliseconds, whether or not earlier ones were answered, until stop is called.
func startDNSClient(address, name string) *dnsClient {
	a := &dnsClient{}
	running, cancel := context.WithCancel(background())
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for {
			select {
			case <-running.Done():
				return
			case <-tick.C:
				all.Go(func() { a.ask(address, name) })
			}
		}
	})
	a.stop = func() {
		cancel()
		all.Wait()
	}
	return a
}

func (a *dnsClient) ask(address, name string) {
	if _, err := lookUp(background(), "tcp", address, name); err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered = append(a.answered, time.Now())
}

func (a *dnsClient) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.answered)
}

// awaitAnswers waits for a number of additional answers.
func (a *dnsClient) awaitAnswers(more int, within ...any) {
	before := a.count()
	Eventually(a.count, within...).Should(BeNumerically(">=", before+more))
}

// gap stops the asker and returns the longest time between two answers.
func (a *dnsClient) gap() time.Duration {
	a.stop()
	slices.SortFunc(a.answered, time.Time.Compare)
	var longest time.Duration
	for i := 1; i < len(a.answered); i++ {
		longest = max(longest, a.answered[i].Sub(a.answered[i-1]))
	}
	return longest
}
