// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"cmp"
	"sync"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// The delay after a failure doubles from Reconciler.RetryAfter to maxDelayFactor times that: a full datastore stays full for
// longer than a minute, and all its machines retry. A busy vCenter recovers sooner.
const (
	maxDelayFactor   = 15
	busyDelayDivisor = 16
)

// failures counts consecutive failures per object. They are lost in a restart, after which the delays are short again.
type failures struct {
	mu    sync.Mutex
	known map[client.ObjectKey]failure
}

type failure struct {
	server string
	doing  operation
	busy   bool // vCenter was busy; nothing is wrong with the object
	times  int
	in     situation
}

// situation is the state on which an attempt depends, as shown by the inventory. If it changes, the next attempt need not be
// delayed.
type situation struct {
	generation       int64
	inventory        int // change count of the objects around the virtual machine
	found, connected bool
	power            vcenter.PowerState
	nameConflict     bool
}

// add records a failure and returns how often the same failure has occurred in a row.
func (f *failures) add(key client.ObjectKey, now failure) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	now.times = 1
	if before := f.known[key]; before.doing == now.doing && before.busy == now.busy && before.in == now.in {
		now.times += before.times
	}
	if f.known == nil {
		f.known = map[client.ObjectKey]failure{}
	}
	f.known[key] = now
	return now.times
}

func (f *failures) last(key client.ObjectKey) (failure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, ok := f.known[key]
	return last, ok
}

// on returns the objects of a vCenter with a recorded failure.
func (f *failures) on(server string) []ctrl.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var requests []ctrl.Request
	for key, last := range f.known {
		if infrav1.SameServer(last.server, server) {
			requests = append(requests, ctrl.Request{NamespacedName: key})
		}
	}
	return requests
}

func (f *failures) forget(key client.ObjectKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, key)
}

// failAndRetry reports a failure and schedules the next attempt.
func (r *Reconciler) failAndRetry(s *scope, reason, message string) reconcile.Progress {
	r.fail(s, reason, message)
	pause := r.backOff(s, false)
	s.vm.Status.RetryAfter.Time = r.Clock.Now().Add(pause)
	return reconcile.Retry(pause)
}

// backOff records a failure and returns the delay until the next attempt.
func (r *Reconciler) backOff(s *scope, busy bool) time.Duration {
	times := r.failures.add(client.ObjectKeyFromObject(s.vm), failure{
		server: s.vm.Spec.Server, doing: s.doing, busy: busy, in: s.situation(),
	})
	if busy {
		return doubled(r.RetryAfter/busyDelayDivisor, times, r.RetryAfter)
	}
	return doubled(r.RetryAfter, times, maxDelayFactor*r.RetryAfter)
}

// busy retries soon after vCenter was busy. No event reports that it no longer is.
func (r *Reconciler) busy(s *scope, err error) reconcile.Progress {
	if !conditions.IsTrue(s.vm, infrav1.VSphereVMVirtualMachineProvisionedCondition) && !r.failing(s, s.doing) {
		reason := conditions.GetReason(s.vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)
		setProvisioned(s.vm, cmp.Or(reason, infrav1.VSphereVMVirtualMachineNotProvisionedReason), err.Error())
	}
	return reconcile.Retry(r.backOff(s, true))
}

func doubled(first time.Duration, times int, most time.Duration) time.Duration {
	for ; times > 1 && first < most; times-- {
		first *= 2
	}
	return min(first, most)
}

// remainingDelay returns the remaining delay after a failure. The delay ends early if the specification or the inventory around the
// virtual machine has changed, or, without a recorded failure, as after a restart, if the object is in deletion.
func (r *Reconciler) remainingDelay(s *scope) time.Duration {
	if s.vm.Status.RetryAfter.IsZero() {
		return 0
	}
	last, known := r.failures.last(client.ObjectKeyFromObject(s.vm))
	same := last.in == s.situation() || !known && s.vm.DeletionTimestamp.IsZero()
	if left := s.vm.Status.RetryAfter.Sub(r.Clock.Now()); left > 0 && same {
		return left
	}
	s.vm.Status.RetryAfter.Reset()
	return 0
}

// failing reports whether the last attempt at the operation failed for this generation of the object.
func (r *Reconciler) failing(s *scope, doing operation) bool {
	last, known := r.failures.last(client.ObjectKeyFromObject(s.vm))
	return known && !last.busy && last.doing == doing && last.in.generation == s.vm.Generation
}

// reportProgress reports a transient step. After a failure, the failure stays visible until the step has succeeded: a reason that
// changes back and forth with every attempt would record an event each time.
func (r *Reconciler) reportProgress(s *scope, doing operation, reason, message string) {
	if s.doing = doing; !r.failing(s, doing) {
		setProvisioned(s.vm, reason, message)
	}
}

func (s *scope) situation() situation {
	now := situation{generation: s.vm.Generation, found: s.found, connected: s.observed.Connected(), power: s.observed.Power}
	if s.session == nil {
		return now
	}
	if s.found {
		now.inventory = s.session.Changes(s.observed.ClusterRef)
	} else if at, err := s.session.Resolve(virtualmachine.PlacementOf(s.vm)); err == nil {
		_, now.nameConflict = s.session.VMInFolder(at.FolderRef, s.vm.Name)
		now.inventory = s.session.Changes(append(networkRefs(at), at.ClusterRef, at.PoolRef, at.FolderRef, at.DatastoreRef)...)
	}
	return now
}

func networkRefs(at vcenter.Resolved) []string {
	refs := make([]string, len(at.Networks))
	for i := range at.Networks {
		refs[i] = at.Networks[i].Ref
	}
	return refs
}
