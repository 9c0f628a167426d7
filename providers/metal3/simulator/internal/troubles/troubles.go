// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package troubles has what keeps hosts from doing as they are told.
package troubles

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
)

// Table has what was asked for, by host and state, and by domain.
type Table struct {
	mu     sync.Mutex
	byHost map[types.NamespacedName]map[bmov1alpha1.ProvisioningState]lifecycle.Fault
	hung   map[types.NamespacedName]bool
	dark   map[string]bool
}

// New has no troubles.
func New() *Table {
	return &Table{
		byHost: map[types.NamespacedName]map[bmov1alpha1.ProvisioningState]lifecycle.Fault{},
		hung:   map[types.NamespacedName]bool{}, dark: map[string]bool{},
	}
}

// Of returns what is wrong with a host of a domain now. The loss of a domain goes before what is wrong with one host.
func (t *Table) Of(host *bmov1alpha1.BareMetalHost, domain string) lifecycle.Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dark[domain] {
		return lifecycle.Fault{Message: "Failure domain " + domain + " has no power", Dark: true}
	}
	key := client.ObjectKeyFromObject(host)
	found := t.byHost[key][host.Status.Provisioning.State]
	found.Hung = t.hung[key]
	return found
}

// Set is what is wrong with a host in that state.
func (t *Table) Set(host types.NamespacedName, state bmov1alpha1.ProvisioningState, what lifecycle.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHost[host] == nil {
		t.byHost[host] = map[bmov1alpha1.ProvisioningState]lifecycle.Fault{}
	}
	t.byHost[host][state] = what
}

// Clear ends what is wrong with a host.
func (t *Table) Clear(host types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byHost, host)
	delete(t.hung, host)
}

// Hang has a host's operating systems not answer.
func (t *Table) Hang(host types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hung[host] = true
}

// SetDark takes the power from a domain, or gives it back.
func (t *Table) SetDark(domain string, dark bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dark[domain] = dark
}
