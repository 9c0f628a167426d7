// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
)

// FaultTable has what was asked for, by host and state, and by domain.
type FaultTable struct {
	mu       sync.Mutex
	byHost   map[types.NamespacedName]map[bmov1alpha1.ProvisioningState]lifecycle.Fault
	hung     map[types.NamespacedName]bool
	byDomain map[string]lifecycle.Fault
}

// NewFaultTable has no troubles.
func NewFaultTable() *FaultTable {
	return &FaultTable{
		byHost: map[types.NamespacedName]map[bmov1alpha1.ProvisioningState]lifecycle.Fault{},
		hung:   map[types.NamespacedName]bool{}, byDomain: map[string]lifecycle.Fault{},
	}
}

// Of returns what is wrong with a host of a domain now. What is wrong with a domain goes before what is wrong with one host.
func (t *FaultTable) Of(host *bmov1alpha1.BareMetalHost, domain string) lifecycle.Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.byDomain[domain]; ok {
		return found
	}
	key := client.ObjectKeyFromObject(host)
	found := t.byHost[key][host.Status.Provisioning.State]
	found.Hung = t.hung[key]
	return found
}

// Set is what is wrong with a host in that state.
func (t *FaultTable) Set(host types.NamespacedName, state bmov1alpha1.ProvisioningState, what lifecycle.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHost[host] == nil {
		t.byHost[host] = map[bmov1alpha1.ProvisioningState]lifecycle.Fault{}
	}
	t.byHost[host][state] = what
}

// Clear ends what is wrong with a host.
func (t *FaultTable) Clear(host types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byHost, host)
	delete(t.hung, host)
}

// Hang has a host's operating systems not answer.
func (t *FaultTable) Hang(host types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hung[host] = true
}

// SetDomain is what is wrong with all hosts of a domain.
func (t *FaultTable) SetDomain(domain string, what lifecycle.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byDomain[domain] = what
}

// ClearDomain ends what is wrong with a domain.
func (t *FaultTable) ClearDomain(domain string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byDomain, domain)
}
