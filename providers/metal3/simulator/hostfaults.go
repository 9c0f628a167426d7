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

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/operator"
)

// DomainLabel on a host names its failure domain.
const DomainLabel = "infrastructure.cluster.x-k8s.io/failure-domain"

// Fail makes every operation of a host in the state fail, until Heal. In a state without an operation, such as available or
// provisioned, the error is reported at once. The host need not exist yet.
func (s *Simulator) Fail(state bmov1alpha1.ProvisioningState, host types.NamespacedName, message string) {
	s.faults.Set(host, state, lifecycle.Fault{Message: message})
	s.queue.add(host)
}

// Stick keeps a host in the state once it is reached, until Heal. The host can still be deleted.
func (s *Simulator) Stick(state bmov1alpha1.ProvisioningState, host types.NamespacedName) {
	s.faults.Set(host, state, lifecycle.Fault{Stuck: true})
	s.queue.add(host)
}

// Hang makes the operating system of a host ignore soft power off, until Heal. The request fails; after the retry delay, the
// operator powers the host off hard. A hard power off succeeds at once.
func (s *Simulator) Hang(host types.NamespacedName) {
	s.faults.Hang(host)
	s.queue.add(host)
}

// Heal clears all faults of a host, which continues at once. It does not restore a failure domain.
func (s *Simulator) Heal(host types.NamespacedName) {
	s.faults.Clear(host)
	s.progress.Expire(host)
	s.queue.add(host)
}

// LoseDomain cuts the power of all hosts of a failure domain and their BMCs, including hosts created later, until RestoreDomain.
// State, operational status and poweredOn of a host keep their values, without an error: only condition Manageable is False, with
// reason PowerFailure. A host that should be provisioned, deprovisioned or deleted stays in its state, unless it is detached by
// force.
func (s *Simulator) LoseDomain(ctx context.Context, name string) error {
	s.faults.SetDomain(name, lifecycle.Fault{Dark: true})
	return s.enqueueDomain(ctx, name)
}

// RestoreDomain restores the power. Machines that were running boot again.
func (s *Simulator) RestoreDomain(ctx context.Context, name string) error {
	s.faults.ClearDomain(name)
	return s.enqueueDomain(ctx, name)
}

// FailPower powers off all hosts of a failure domain, including hosts created later, and makes all their operations fail,
// including power on, until RestoreDomain. Their BMCs respond.
func (s *Simulator) FailPower(ctx context.Context, domain string) error {
	s.faults.SetDomain(domain, lifecycle.Fault{Message: "Failure domain " + domain + " has no power", Off: true})
	return s.enqueueDomain(ctx, domain)
}

// RefuseUpdates makes the API server reject every update of a host except of its status, as the operator's webhook does with a
// host that was valid once and no longer is. It returns once that is in effect. The host can still be deleted.
func (s *Simulator) RefuseUpdates(ctx context.Context, host types.NamespacedName, message string) error {
	return operator.RefuseUpdates(ctx, s.client, host, message)
}

// AcceptUpdates reverts RefuseUpdates.
func (s *Simulator) AcceptUpdates(ctx context.Context, host types.NamespacedName) error {
	return operator.AcceptUpdates(ctx, s.client, host)
}

// LoseWebhook simulates the outage of the operator's webhook, which is served by the operator and down whenever the operator is.
// The API server then rejects creates and updates of hosts of the namespace. It returns once that is in effect. Meanwhile, the
// simulator itself can only write status.
func (s *Simulator) LoseWebhook(ctx context.Context, namespace string) error {
	return operator.LoseWebhook(ctx, s.client, namespace)
}

// RestoreWebhook reverts LoseWebhook.
func (s *Simulator) RestoreWebhook(ctx context.Context, namespace string) error {
	return operator.RestoreWebhook(ctx, s.client, namespace)
}

func (s *Simulator) enqueueDomain(ctx context.Context, domain string) error {
	if !s.queue.connected() {
		return nil
	}
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := s.client.List(ctx, hosts, client.MatchingLabels{DomainLabel: domain}); err != nil {
		return fmt.Errorf("listing hosts of failure domain %s: %w", domain, err)
	}
	for i := range hosts.Items {
		key := client.ObjectKeyFromObject(&hosts.Items[i])
		s.progress.Expire(key)
		s.queue.add(key)
	}
	return nil
}

// queue is the queue of the controller, once the controller has started. Before that no host needs to be enqueued, because all
// hosts are reconciled at the start.
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
