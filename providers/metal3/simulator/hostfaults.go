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

// DomainLabel says on a host which failure domain it is in.
const DomainLabel = "infrastructure.cluster.x-k8s.io/failure-domain"

// Fail lets every operation of a host in that state end with an error, until Heal. In a state without an operation, such
// as available or provisioned, the host has the error at once. The host need not exist yet.
func (s *Simulator) Fail(state bmov1alpha1.ProvisioningState, host types.NamespacedName, message string) {
	s.troubles.Set(host, state, lifecycle.Fault{Message: message})
	s.queue.add(host)
}

// Stick keeps a host in that state, once it is there, until Heal. The host can still be deleted.
func (s *Simulator) Stick(state bmov1alpha1.ProvisioningState, host types.NamespacedName) {
	s.troubles.Set(host, state, lifecycle.Fault{Stuck: true})
	s.queue.add(host)
}

// Hang lets the operating systems that a host runs ignore that they are asked to shut down, until Heal. Asking ends with an
// error; then, after the time of a retry, the operator takes the power away, which it does at once for those who ask for that.
func (s *Simulator) Hang(host types.NamespacedName) {
	s.troubles.Hang(host)
	s.queue.add(host)
}

// Heal ends every fault of a host, which goes on at once. It does not bring back a domain.
func (s *Simulator) Heal(host types.NamespacedName) {
	s.troubles.Clear(host)
	s.progress.Hurry(host)
	s.queue.add(host)
}

// LoseDomain takes the power from all hosts of a failure domain and their BMCs, also from those that come later, until RestoreDomain.
// State, operational status and poweredOn of a host stay as they are, without an error: only its condition Manageable is False, with
// reason PowerFailure. A host that is to be provisioned, deprovisioned or deleted stays in its state, unless somebody forces it to be
// detached.
func (s *Simulator) LoseDomain(ctx context.Context, name string) error {
	s.troubles.SetDomain(name, lifecycle.Fault{Dark: true})
	return s.wake(ctx, name)
}

// RestoreDomain gives the power back. What ran before boots again.
func (s *Simulator) RestoreDomain(ctx context.Context, name string) error {
	s.troubles.ClearDomain(name)
	return s.wake(ctx, name)
}

// FailPower switches all hosts of a failure domain off, also those that come later, and lets each attempt to switch them on, and whatever
// else they are to do, end with an error, until RestoreDomain. Their BMCs answer.
func (s *Simulator) FailPower(ctx context.Context, domain string) error {
	s.troubles.SetDomain(domain, lifecycle.Fault{Message: "Failure domain " + domain + " has no power", Off: true})
	return s.wake(ctx, domain)
}

// RefuseUpdates makes the API server refuse every update of a host but of its status, as the operator's webhook does with a
// host that was valid once and is not any more. It returns when that is so. The host can still be deleted.
func (s *Simulator) RefuseUpdates(ctx context.Context, host types.NamespacedName, message string) error {
	return operator.RefuseUpdates(ctx, s.client, host, message)
}

// AcceptUpdates ends RefuseUpdates.
func (s *Simulator) AcceptUpdates(ctx context.Context, host types.NamespacedName) error {
	return operator.AcceptUpdates(ctx, s.client, host)
}

// LoseWebhook stops the webhook of the operator, which has no life of its own: it is gone whenever the operator is. The API server then
// refuses to create and update hosts of the namespace. It returns when that is so. The simulator itself writes the status only meanwhile.
func (s *Simulator) LoseWebhook(ctx context.Context, namespace string) error {
	return operator.LoseWebhook(ctx, s.client, namespace)
}

// RestoreWebhook ends LoseWebhook.
func (s *Simulator) RestoreWebhook(ctx context.Context, namespace string) error {
	return operator.RestoreWebhook(ctx, s.client, namespace)
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
		s.progress.Hurry(key)
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
