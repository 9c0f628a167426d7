// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline-io/faultline/shared/reconcile"
)

// ErrRefused is returned if the API server rejects the claim of a host: the host is no longer valid, or a policy denies it. The
// host is set aside for the machine.
var ErrRefused = errors.New("API server rejected the claim")

// Refusal is a claim that the API server has rejected.
type Refusal struct {
	// Version is the resourceVersion of the host at the time of the claim.
	Version string
	// Message holds the API server's message and how to resolve it.
	Message string

	until time.Time
}

// refusals records for a limited time which hosts could not be claimed for which machines, so that these machines try other
// hosts. The zero value is empty.
type refusals struct {
	mu     sync.Mutex
	byPair map[machineAndHost]Refusal
}

type machineAndHost struct{ machine, host types.NamespacedName }

func (r *refusals) record(key machineAndHost, version string, cause error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.byPair, func(_ machineAndHost, refusal Refusal) bool { return !now.Before(refusal.until) })
	if r.byPair == nil {
		r.byPair = map[machineAndHost]Refusal{}
	}
	r.byPair[key] = Refusal{Version: version, Message: reconcile.RejectedMessage("BareMetalHost", key.host.Name, cause), until: now.Add(reconcile.RefusedPause)}
}

// of returns the hosts that the machine must not try now, by name.
func (r *refusals) of(machine types.NamespacedName, now time.Time) map[string]Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found map[string]Refusal
	for key, refusal := range r.byPair {
		if key.machine != machine || !now.Before(refusal.until) {
			continue
		}
		if found == nil {
			found = map[string]Refusal{}
		}
		found[key.host.Name] = refusal
	}
	return found
}

// Reserve calls Inventory.Reserve with the current time and without the hosts that are set aside for the machine.
func (h *Hosts) Reserve(requirements Requirements) (Host, Reasons, bool) {
	requirements.Now = h.Clock.Now()
	requirements.Refused = h.refusals.of(requirements.Machine, requirements.Now)
	return h.Inventory.Reserve(requirements)
}

// recordRefusal sets the host aside if cause is a rejection by the API server. Otherwise the machine must call Reserve again.
func (h *Hosts) recordRefusal(host Host, machine types.NamespacedName, cause error) error {
	if !reconcile.IsRejected(cause) {
		h.Inventory.Forget(machine)
		return cause
	}
	return h.refuse(host, machine, cause)
}

// refuse sets the host aside for the machine.
func (h *Hosts) refuse(host Host, machine types.NamespacedName, cause error) error {
	h.refusals.record(machineAndHost{machine, host.Key()}, host.Version, cause, h.Clock.Now())
	return fmt.Errorf("%w: %w", ErrRefused, cause)
}

// refuses reports whether the host is unchanged since its claim was rejected.
func (r Requirements) refuses(host *Host) bool {
	refusal, ok := r.Refused[host.Name]
	return ok && refusal.Version == host.Version
}

// firstRefusal returns the message of the host that is first by name, so that the message is stable.
func (r Requirements) firstRefusal(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return r.Refused[slices.Min(names)].Message
}
