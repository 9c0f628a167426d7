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

// ErrRefused is returned for a host whose claim the API server will not have: the host is not valid any more, or a policy
// objects. The host is set aside for the machine.
var ErrRefused = errors.New("the API server refuses the claim")

// Refusal is a claim that the API server would not have.
type Refusal struct {
	// Version is that of the host as it was then.
	Version string
	// Message has the API server's words and the way out.
	Message string

	until time.Time
}

// refusals remember for a while which hosts could not be claimed for which machines, so that these try others. The zero value
// is empty.
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

// of lists what a machine is not to try now, by the name of the host.
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

// Ask is the Inventory's, without the hosts that are set aside for the machine, as of now.
func (h *Hosts) Ask(wants Wants) (Host, Reasons, bool) {
	wants.Now = h.Clock.Now()
	wants.Refused = h.refusals.of(wants.Machine, wants.Now)
	return h.Inventory.Ask(wants)
}

// refused sets a host aside whose claim has ended with an error, if that is a refusal. Otherwise the machine has to ask again.
func (h *Hosts) refused(host Host, machine types.NamespacedName, cause error) error {
	if !reconcile.IsRefused(cause) {
		h.Inventory.Forget(machine)
		return cause
	}
	h.refusals.note(pair{machine, host.Key()}, host.Version, cause, h.Clock.Now())
	return fmt.Errorf("%w: %w", ErrRefused, cause)
}

// refuses reports whether the host is as it was when the machine could not have it.
func (w Wants) refuses(host *Host) bool {
	known, ok := w.Refused[host.Name]
	return ok && known.Version == host.Version
}

// firstRefusal is the message of one of the hosts, always the same.
func (w Wants) firstRefusal(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return w.Refused[slices.Min(names)].Message
}
