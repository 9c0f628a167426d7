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
var ErrRefused = errors.New("the API server refuses the claim")

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
	byPair map[pair]Refusal
}

type pair struct{ machine, host types.NamespacedName }

func (r *refusals) note(who pair, version string, cause error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.byPair, func(_ pair, known Refusal) bool { return !now.Before(known.until) })
	if r.byPair == nil {
		r.byPair = map[pair]Refusal{}
	}
	r.byPair[who] = Refusal{Version: version, Message: reconcile.RefusedMessage("BareMetalHost", who.host.Name, cause), until: now.Add(reconcile.RefusedPause)}
}

// of returns the hosts that the machine must not try now, by name.
func (r *refusals) of(machine types.NamespacedName, now time.Time) map[string]Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found map[string]Refusal
	for who, known := range r.byPair {
		if who.machine != machine || !now.Before(known.until) {
			continue
		}
		if found == nil {
			found = map[string]Refusal{}
		}
		found[who.host.Name] = known
	}
	return found
}

// Ask calls Inventory.Ask with the current time and without the hosts that are set aside for the machine.
func (h *Hosts) Ask(wants Wants) (Host, Reasons, bool) {
	wants.Now = h.Clock.Now()
	wants.Refused = h.refusals.of(wants.Machine, wants.Now)
	return h.Inventory.Ask(wants)
}

// refused sets the host aside if cause is a rejection by the API server. Otherwise the machine must ask again.
func (h *Hosts) refused(host Host, machine types.NamespacedName, cause error) error {
	if !reconcile.IsRefused(cause) {
		h.Inventory.Forget(machine)
		return cause
	}
	h.refusals.note(pair{machine, host.Key()}, host.Version, cause, h.Clock.Now())
	return fmt.Errorf("%w: %w", ErrRefused, cause)
}

// refuses reports whether the host is unchanged since its claim was rejected.
func (w Wants) refuses(host *Host) bool {
	known, ok := w.Refused[host.Name]
	return ok && known.Version == host.Version
}

// firstRefusal returns the message of the host that is first by name, so that the message is stable.
func (w Wants) firstRefusal(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return w.Refused[slices.Min(names)].Message
}
