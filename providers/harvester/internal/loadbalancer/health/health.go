// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health checks which machines behind load balancers are healthy. Checker periodically connects to each of them, with a limited
// number of concurrent connections, and enqueues load balancers whose healthy machines have changed.
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

// Defaults of a check, those of the prober in Harvester's load balancer. They apply to a load balancer that was stored without these
// values and not written since. The webhook sets its own defaults on each write (webhook.setHealthCheckDefaults).
const (
	defaultSuccesses = 1
	defaultFailures  = 3
	defaultPeriod    = 5 * time.Second
	defaultTimeout   = 3 * time.Second
)

// DefaultConnections is the default maximum number of concurrent connections.
const DefaultConnections = 1024

// Check configures the health checks of a load balancer.
type Check struct {
	Port uint16
	// Successes and Failures are the numbers of consecutive results that make a machine healthy or unhealthy.
	Successes, Failures uint
	Period, Timeout     time.Duration
}

// Of returns the check of a load balancer, with defaults for values that are 0. It returns false if the load balancer has no
// health check.
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

// Machine is a machine behind a load balancer.
type Machine struct {
	// ID distinguishes it from a later machine with the same address.
	ID types.UID
	// Healthy is the initial state, until the checks change it.
	Healthy bool
}

// Checker checks machines while Start runs. Its methods may be called from any goroutine and block only on each other.
type Checker struct {
	// Dial connects to machines. It may be set before Start.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	connections int
	metrics     *Metrics
	rescheduled chan struct{}
	probes      sync.WaitGroup

	mu       sync.Mutex
	machines map[types.NamespacedName]map[netip.Addr]*machine
	due      schedule
	// slow are due machines whose last check timed out. Because they occupy a connection for the whole timeout, they get only a part of
	// all connections, so that other machines are checked in time.
	slow                   []*machine
	inFlight, slowInFlight int
	changed                func(types.NamespacedName)
}

// machine is a machine behind one load balancer. It is guarded by the Checker's lock.
type machine struct {
	of      types.NamespacedName
	address netip.Addr
	id      types.UID
	check   Check
	healthy bool
	// streak is the number of consecutive results that contradict healthy.
	streak uint
	// hangs is set if the last check timed out.
	hangs   bool
	removed bool
	// due is when the next check is due. index is its index in the schedule, or -1.
	due   time.Time
	index int
}

// New returns a Checker with a maximum number of concurrent connections. metrics may be nil.
func New(connections int, metrics *Metrics) *Checker {
	return &Checker{
		Dial: (&net.Dialer{KeepAlive: -1}).DialContext, connections: max(connections, 1), metrics: metrics, rescheduled: make(chan struct{}, 1),
		machines: map[types.NamespacedName]map[netip.Addr]*machine{},
	}
}

// Source returns a source that enqueues each load balancer whose healthy machines have changed.
func (c *Checker) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed = func(of types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: of}) }
		return nil
	})
}

// Set replaces the machines of a load balancer. Machines that are already checked keep their state. It returns which machines are
// healthy.
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
			m = &machine{of: of, address: address, id: wanted.ID, check: check, healthy: wanted.Healthy, index: -1}
			c.add(m)
			c.schedule(m, firstDelay(check.Period))
		case m.check != check:
			m.check, m.streak = check, 0
			if m.index >= 0 { // otherwise a check is running, and the new settings apply after it
				c.schedule(m, firstDelay(check.Period))
			}
		}
		healthy[address] = m.healthy
	}
	c.metrics.machines(c.machines)
	c.reschedule()
	return healthy
}

// Remove stops the checks of a load balancer.
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
	m.removed = true
	c.unschedule(m)
	delete(c.machines[m.of], m.address)
	if len(c.machines[m.of]) == 0 {
		delete(c.machines, m.of)
	}
}

// record records a result and reports whether it has changed the state of the machine.
func (m *machine) record(answers bool) bool {
	if answers == m.healthy {
		m.streak = 0
		return false
	}
	m.streak++
	needed := m.check.Successes
	if m.healthy {
		needed = m.check.Failures
	}
	if m.streak < needed {
		return false
	}
	m.healthy, m.streak = answers, 0
	return true
}
