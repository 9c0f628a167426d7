// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health finds out which machines behind load balancers answer. Checker connects to each of them again and again, to many at a
// time but never to more than a given number, and tells whose load balancer has other healthy machines than before.
package health

import (
	"context"
	"math"
	"net"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// What a check is that does not say it.
const (
	defaultSuccesses = 1
	defaultFailures  = 3
	defaultPeriod    = 5 * time.Second
	defaultTimeout   = 3 * time.Second
)

// DefaultConnections is how many machines are connected to at the same time.
const DefaultConnections = 1024

// Check is how the machines of a load balancer are looked at.
type Check struct {
	Port uint16
	// Successes and Failures are how many in a row make a machine healthy, or take that from it.
	Successes, Failures uint
	Period, Timeout     time.Duration
}

// Of is the check of a load balancer, with Harvester's values for what it does not say. It is false for a load balancer that does not want
// its machines checked.
func Of(spec *lbv1.HealthCheck) (Check, bool) {
	if spec == nil || spec.Port == 0 || spec.Port > math.MaxUint16 {
		return Check{}, false
	}
	return Check{
		Port: uint16(spec.Port), Successes: or(spec.SuccessThreshold, defaultSuccesses), Failures: or(spec.FailureThreshold, defaultFailures),
		Period: seconds(spec.PeriodSeconds, defaultPeriod), Timeout: seconds(spec.TimeoutSeconds, defaultTimeout),
	}, true
}

func or(value, otherwise uint) uint {
	if value == 0 {
		return otherwise
	}
	return value
}

func seconds(value uint, otherwise time.Duration) time.Duration {
	if value == 0 {
		return otherwise
	}
	return time.Duration(min(value, math.MaxInt32)) * time.Second
}

// Machine is one behind a load balancer.
type Machine struct {
	// ID tells it from another that has its address later.
	ID types.UID
	// Healthy is what it is taken for until checks say otherwise.
	Healthy bool
}

// Checker checks machines while Start runs. New makes one. Its methods may be called from any goroutine and wait for nothing but each other.
type Checker struct {
	// Dial connects to machines. It is set before Start, if at all.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	connections int
	metrics     *Metrics
	wake        chan struct{}
	probes      sync.WaitGroup

	mu       sync.Mutex
	machines map[types.NamespacedName]map[netip.Addr]*machine
	due      schedule
	// slow are machines that have not answered in time before, and are to be asked again. As long as they keep a connection for the whole
	// timeout, they have a part of all connections only: those that answer are looked at in time.
	slow                   []*machine
	inFlight, slowInFlight int
	changed                func(types.NamespacedName)
}

// machine is one behind one load balancer. It is guarded by the Checker's lock.
type machine struct {
	of      types.NamespacedName
	address netip.Addr
	id      types.UID
	check   Check
	healthy bool
	// row is how many results in a row say the contrary of healthy.
	row uint
	// hangs says that the last connection was not made in time.
	hangs bool
	gone  bool
	// at is when it is to be looked at, place where it is in the schedule; -1 while it is not.
	at    time.Time
	place int
}

// New makes a Checker that has so many connections at the same time; metrics may be nil.
func New(connections int, metrics *Metrics) *Checker {
	return &Checker{
		Dial: (&net.Dialer{KeepAlive: -1}).DialContext, connections: max(connections, 1), metrics: metrics, wake: make(chan struct{}, 1),
		machines: map[types.NamespacedName]map[netip.Addr]*machine{},
	}
}

// Source has a controller reconcile each load balancer that has other healthy machines than before.
func (c *Checker) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed = func(of types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: of}) }
		return nil
	})
}

// Set has the machines of a load balancer checked, and no others of it. One that is checked already stays as healthy as it is. It returns
// which of them are healthy.
func (c *Checker) Set(of types.NamespacedName, check Check, machines map[netip.Addr]Machine) map[netip.Addr]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.machines[of]
	for address, m := range has {
		if wanted, stays := machines[address]; !stays || wanted.ID != m.id {
			c.drop(m)
		}
	}
	healthy := make(map[netip.Addr]bool, len(machines))
	for address, wanted := range machines {
		m := c.machines[of][address]
		switch {
		case m == nil:
			m = &machine{of: of, address: address, id: wanted.ID, check: check, healthy: wanted.Healthy, place: -1}
			c.add(m)
			c.schedule(m, soon(check.Period))
		case m.check != check:
			m.check, m.row = check, 0
			if m.place >= 0 { // otherwise it is being looked at, and goes on as it is then
				c.schedule(m, soon(check.Period))
			}
		}
		healthy[address] = m.healthy
	}
	c.metrics.machines(c.machines)
	c.again()
	return healthy
}

// Remove has no machine of the load balancer checked any more.
func (c *Checker) Remove(of types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.machines[of] {
		c.drop(m)
	}
	c.metrics.machines(c.machines)
}

func (c *Checker) add(m *machine) {
	if c.machines[m.of] == nil {
		c.machines[m.of] = map[netip.Addr]*machine{}
	}
	c.machines[m.of][m.address] = m
}

func (c *Checker) drop(m *machine) {
	m.gone = true
	c.unschedule(m)
	delete(c.machines[m.of], m.address)
	if len(c.machines[m.of]) == 0 {
		delete(c.machines, m.of)
	}
}

// learn counts a result, and reports whether the machine is healthy, or not, only since then.
func (m *machine) learn(answers bool) bool {
	if answers == m.healthy {
		m.row = 0
		return false
	}
	m.row++
	needed := m.check.Successes
	if m.healthy {
		needed = m.check.Failures
	}
	if m.row < needed {
		return false
	}
	m.healthy, m.row = answers, 0
	return true
}
