// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestGateLimitsWorkersOfSlowHarvester(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	connections := &Connections{}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	g.Expect(connections.Source(Machine).Start(t.Context(), q)).To(Succeed())
	conn := &Connection{enqueuer: &connections.enqueuer, askers: map[Requester]string{}, awaiting: map[Requester]struct{}{}, ctx: context.Background()}
	machine := machineAsker
	var leave func()
	for i := range room {
		var entered bool
		leave, entered = conn.Enter(machine(i))
		g.Expect(entered).To(BeTrue())
	}
	for i := range 3 {
		_, entered := conn.Enter(machine(room + i))
		g.Expect(entered).To(BeFalse())
	}
	_, entered := conn.Enter(machine(room))
	g.Expect(entered).To(BeFalse(), "who waits already waits once")
	conn.leave(machine(room + 1))

	leave()
	woken, _ := q.Get()
	g.Expect(woken.Name).To(Equal(machine(room).Key.Name))
	q.Done(woken)
	leave, entered = conn.Enter(machine(room))
	g.Expect(entered).To(BeTrue())
	leave()
	woken, _ = q.Get()
	g.Expect(woken.Name).To(Equal(machine(room+2).Key.Name), "who is gone does not wait")
}

func TestGateServesInOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	var e gate
	for i := range room {
		g.Expect(e.enter(machineAsker(i), now)).To(BeTrue())
	}
	waiting, newcomer := machineAsker(room), machineAsker(room+1)
	g.Expect(e.enter(waiting, now)).To(BeFalse())
	e.inside--
	g.Expect(e.reserve(now)).To(Equal([]Requester{waiting}))
	g.Expect(e.enter(newcomer, now)).To(BeFalse(), "the place is kept")
	g.Expect(e.reserve(now)).To(BeEmpty())
	g.Expect(e.enter(waiting, now)).To(BeTrue())
}

func TestUnusedReservationOfGateExpires(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(e *gate, now *time.Time){
		"who is gone":      func(e *gate, _ *time.Time) { e.forget(machineAsker(room)) },
		"who is too late":  func(_ *gate, now *time.Time) { *now = now.Add(invitation) },
		"who never waited": func(e *gate, _ *time.Time) { e.forget(machineAsker(room)); e.forget(machineAsker(-1)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			now := time.Now()
			var e gate
			for i := range room {
				g.Expect(e.enter(machineAsker(i), now)).To(BeTrue())
			}
			for i := range 2 {
				g.Expect(e.enter(machineAsker(room+i), now)).To(BeFalse())
			}
			e.inside--
			g.Expect(e.reserve(now)).To(Equal([]Requester{machineAsker(room)}))
			away(&e, &now)
			g.Expect(e.reserve(now)).To(Equal([]Requester{machineAsker(room + 1)}))
			g.Expect(e.enter(machineAsker(room+1), now)).To(BeTrue())
		})
	}
}

func machineAsker(i int) Requester {
	return Requester{Kind: Machine, Key: client.ObjectKey{Name: fmt.Sprintf("m-%d", i)}}
}
