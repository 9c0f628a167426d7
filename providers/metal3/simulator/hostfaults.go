// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// DomainLabel says on a host which failure domain it is in.
const DomainLabel = "infrastructure.cluster.x-k8s.io/failure-domain"

// hostFaults are what was asked for, by host and state, and by domain.
type hostFaults struct {
	mu     sync.Mutex
	byHost map[types.NamespacedName]map[bmov1alpha1.ProvisioningState]fault
	hung   map[types.NamespacedName]bool
	dark   map[string]bool
}

func newHostFaults() *hostFaults {
	return &hostFaults{
		byHost: map[types.NamespacedName]map[bmov1alpha1.ProvisioningState]fault{},
		hung:   map[types.NamespacedName]bool{}, dark: map[string]bool{},
	}
}

// of returns what is wrong with a host now. The loss of a domain goes before what is wrong with one host.
func (f *hostFaults) of(host *bmov1alpha1.BareMetalHost) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if domain := host.Labels[DomainLabel]; f.dark[domain] {
		return fault{message: "Failure domain " + domain + " has no power", dark: true}
	}
	key := client.ObjectKeyFromObject(host)
	found := f.byHost[key][host.Status.Provisioning.State]
	found.hung = f.hung[key]
	return found
}

func (f *hostFaults) set(host types.NamespacedName, state bmov1alpha1.ProvisioningState, what fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byHost[host] == nil {
		f.byHost[host] = map[bmov1alpha1.ProvisioningState]fault{}
	}
	f.byHost[host][state] = what
}

func (f *hostFaults) clear(host types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byHost, host)
	delete(f.hung, host)
}

func (f *hostFaults) hang(host types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hung[host] = true
}

func (f *hostFaults) setDark(domain string, dark bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dark[domain] = dark
}

// Fail lets every operation of a host in that state end with an error, until Heal. In a state without an operation, such
// as available or provisioned, the host has the error at once. The host need not exist yet.
func (s *Simulator) Fail(state bmov1alpha1.ProvisioningState, host types.NamespacedName, message string) {
	s.faults.set(host, state, fault{message: message})
	s.queue.add(host)
}

// Stick keeps a host in that state, once it is there, until Heal. The host can still be deleted.
func (s *Simulator) Stick(state bmov1alpha1.ProvisioningState, host types.NamespacedName) {
	s.faults.set(host, state, fault{stuck: true})
	s.queue.add(host)
}

// Hang lets the operating systems that a host runs ignore that they are asked to shut down, until Heal. Asking ends with an
// error; then, after the time of a retry, the operator takes the power away, which it does at once for those who ask for that.
func (s *Simulator) Hang(host types.NamespacedName) {
	s.faults.hang(host)
	s.queue.add(host)
}

// Heal ends every fault of a host, which goes on at once. It does not bring back a domain.
func (s *Simulator) Heal(host types.NamespacedName) {
	s.faults.clear(host)
	s.progress.hurry(host)
	s.queue.add(host)
}

// LoseDomain takes the power from all hosts of a failure domain, also from those that come later. They are in error
// until RestoreDomain.
func (s *Simulator) LoseDomain(ctx context.Context, name string) error {
	s.faults.setDark(name, true)
	return s.wake(ctx, name)
}

// RestoreDomain gives the power back. What ran before boots again.
func (s *Simulator) RestoreDomain(ctx context.Context, name string) error {
	s.faults.setDark(name, false)
	return s.wake(ctx, name)
}

func (s *Simulator) wake(ctx context.Context, domain string) error {
	if !s.queue.connected() {
		return nil
	}
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := s.client.List(ctx, hosts, client.MatchingLabels{DomainLabel: domain}); err != nil {
		return fmt.Errorf("listing hosts of failure domain %s: %w", domain, err)
	}
	for i := range hosts.Items {
		key := client.ObjectKeyFromObject(&hosts.Items[i])
		s.progress.hurry(key)
		s.queue.add(key)
	}
	return nil
}

// queue is the controller's, from when the controller has started. Before that nobody needs to be woken: every host is
// looked at in the beginning.
type queue struct {
	mu  sync.Mutex
	put func(reconcile.Request)
}

func (q *queue) connect(put func(reconcile.Request)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.put = put
}

func (q *queue) connected() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.put != nil
}

func (q *queue) add(key types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.put != nil {
		q.put(reconcile.Request{NamespacedName: key})
	}
}
