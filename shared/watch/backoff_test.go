// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/watch"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	limiter := watch.Concurrency(1).RateLimiter
	object := ctrl.Request{NamespacedName: client.ObjectKey{Name: "a"}}
	total := time.Duration(0)
	for longest := 20 * time.Millisecond; longest < 30*time.Second; longest *= 2 {
		pause := limiter.When(object)
		g.Expect(pause).To(And(BeNumerically("<=", longest), BeNumerically(">=", longest*3/4)))
		total += pause
	}
	g.Expect(total).To(BeNumerically("<", time.Minute), "so few requests are sent in the first minute")
	for range 100 {
		g.Expect(limiter.When(object)).To(And(BeNumerically("<=", 30*time.Second), BeNumerically(">=", 30*time.Second*3/4)))
	}
}

func TestBackoffPerObject(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	limiter := watch.Concurrency(1).RateLimiter
	object, other := ctrl.Request{NamespacedName: client.ObjectKey{Name: "a"}}, ctrl.Request{NamespacedName: client.ObjectKey{Name: "b"}}
	for range 20 {
		limiter.When(object)
	}
	g.Expect(limiter.When(other)).To(BeNumerically("<=", 20*time.Millisecond))
	limiter.Forget(object)
	g.Expect(limiter.NumRequeues(object)).To(BeZero())
	g.Expect(limiter.When(object)).To(BeNumerically("<=", 20*time.Millisecond))
}

func TestBackoffJitter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	limiter, pauses := watch.Backoff[int](), map[time.Duration]bool{}
	for object := range 100 {
		pauses[limiter.When(object)] = true
	}
	g.Expect(len(pauses)).To(BeNumerically(">", 50))
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(watch.Concurrency(0).MaxConcurrentReconciles).To(Equal(1))
	g.Expect(watch.Concurrency(5).MaxConcurrentReconciles).To(Equal(5))
}
