// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestASlowHarvesterHoldsNoMoreWorkersThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	connections := &Connections{}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	g.Expect(connections.Source(Machine).Start(t.Context(), q)).To(Succeed())
	conn := &Connection{wakes: &connections.wakes, askers: map[Asker]struct{}{}, awaiting: map[Asker]struct{}{}, ctx: context.Background()}
	machine := func(i int) Asker {
		return Asker{Kind: Machine, Key: client.ObjectKey{Name: fmt.Sprintf("m-%d", i)}}
	}
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
