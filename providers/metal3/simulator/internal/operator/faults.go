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

// FaultTable holds the active faults, by host and state, and by failure domain.
type FaultTable struct {
	mu       sync.Mutex
	byHost   map[types.NamespacedName]map[bmov1alpha1.ProvisioningState]lifecycle.Fault
	hung     map[types.NamespacedName]bool
	byDomain map[string]lifecycle.Fault
}

// NewFaultTable returns a table without faults.
func NewFaultTable() *FaultTable {
	return &FaultTable{
		byHost: map[types.NamespacedName]map[bmov1alpha1.ProvisioningState]lifecycle.Fault{},
		hung:   map[types.NamespacedName]bool{}, byDomain: map[string]lifecycle.Fault{},
	}
}

// Of returns the current fault of a host. A fault of its failure domain takes precedence.
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

// Set sets the fault of a host in a state.
func (t *FaultTable) Set(host types.NamespacedName, state bmov1alpha1.ProvisioningState, fault lifecycle.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHost[host] == nil {
		t.byHost[host] = map[bmov1alpha1.ProvisioningState]lifecycle.Fault{}
	}
	t.byHost[host][state] = fault
}

// Clear clears all faults of a host.
func (t *FaultTable) Clear(host types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byHost, host)
	delete(t.hung, host)
}

// Hang makes the operating system of a host ignore soft power off.
func (t *FaultTable) Hang(host types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hung[host] = true
}

// SetDomain sets the fault of all hosts of a failure domain.
func (t *FaultTable) SetDomain(domain string, fault lifecycle.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byDomain[domain] = fault
}

// ClearDomain clears the fault of a failure domain.
func (t *FaultTable) ClearDomain(domain string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byDomain, domain)
}
