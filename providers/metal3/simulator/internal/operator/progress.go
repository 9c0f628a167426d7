// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
)

// Delays are the times that a host stays in its states. With zero delays every state is still written.
type Delays struct {
	Registering, Inspecting, Preparing, Provisioning, Deprovisioning time.Duration
	// Cleaning is added to Preparing and Deprovisioning, unless the host's automated cleaning is disabled.
	Cleaning time.Duration
	// Power is the time to power a machine on or off.
	Power time.Duration
	// Retry is the time until a failed operation is retried; it doubles with each failure, up to 64 times. Defaults to ten
	// seconds. The real operator waits one to two minutes after the first failure.
	Retry time.Duration
	// PowerLoss is the time until the operator detects that a machine has lost its power. The real operator polls every minute,
	// and Ironic needs three of its own polls.
	PowerLoss time.Duration
	// Detached is the time until the operator reconciles an unchanged detached host again. Defaults to ten minutes, as in the
	// real operator.
	Detached time.Duration
	// Jitter is the maximum relative deviation of a delay: with 0.2, 10 s becomes 8 to 12 s.
	Jitter float64
}

const (
	defaultRetry    = 10 * time.Second
	defaultDetached = 10 * time.Minute
	// doublings limits the retry delay.
	doublings = 6
)

// phase identifies the current work of a host. A new phase restarts the delay.
type phase struct {
	state     bmov1alpha1.ProvisioningState
	switching bool
	cleaning  bool
	// dark means that the machine has no power; unnoticed means that the operator has not detected that yet.
	dark, unnoticed bool
	detached        bool
	failures        int
}

func phaseOf(host *bmov1alpha1.BareMetalHost, m lifecycle.Machine, dark bool) phase {
	p := phase{
		state: host.Status.Provisioning.State, dark: dark, unnoticed: dark && !lifecycle.PowerFailure(host),
	}
	p.detached = host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached && p.state != bmov1alpha1.StateDeleting
	switch p.state {
	case bmov1alpha1.StateAvailable, bmov1alpha1.StateReady, bmov1alpha1.StateProvisioned, bmov1alpha1.StateExternallyProvisioned:
		p.switching = (m != lifecycle.Off) != lifecycle.WantsPower(host, m)
	case bmov1alpha1.StatePoweringOffBeforeDelete:
		p.switching = m != lifecycle.Off
	case bmov1alpha1.StatePreparing, bmov1alpha1.StateDeprovisioning:
		p.cleaning = host.Spec.AutomatedCleaningMode != bmov1alpha1.CleaningModeDisabled
	}
	if host.Status.ErrorMessage != "" {
		p.failures = host.Status.ErrorCount
	}
	return p
}

// of returns the delay of a phase, without jitter.
func (d Delays) of(p phase) time.Duration {
	switch {
	case p.detached:
		return cmp.Or(d.Detached, defaultDetached)
	case p.failures > 0:
		return d.retry(p.failures)
	case p.unnoticed:
		return d.PowerLoss
	case p.switching:
		return d.Power
	}
	delay := map[bmov1alpha1.ProvisioningState]time.Duration{
		bmov1alpha1.StateRegistering:    d.Registering,
		bmov1alpha1.StateInspecting:     d.Inspecting,
		bmov1alpha1.StatePreparing:      d.Preparing,
		bmov1alpha1.StateProvisioning:   d.Provisioning,
		bmov1alpha1.StateDeprovisioning: d.Deprovisioning,
	}[p.state]
	if p.cleaning {
		delay += d.Cleaning
	}
	return delay
}

func (d Delays) retry(failures int) time.Duration {
	base := d.Retry
	if base <= 0 {
		base = defaultRetry
	}
	return base << min(failures-1, doublings)
}

// jittered returns the delay with jitter for a random number in [0, 1).
func (d Delays) jittered(delay time.Duration, random float64) time.Duration {
	return max(0, time.Duration(float64(delay)*(1+d.Jitter*(2*random-1))))
}

// Progress is the state of a machine that is not in the API.
type Progress struct {
	Machine lifecycle.Machine
	// Until is the end of the delay of the host's phase.
	Until time.Time
	// Started is the image that provisioning started with; "" if it is unknown.
	Started string

	phase    phase
	observed string
	random   *rand.Rand
}

// ProgressTable holds the progress of each host. The reconciler processes a host in one worker at a time; the lock is needed for
// faults.
type ProgressTable struct {
	delays Delays
	seed   uint64

	mu     sync.Mutex
	byHost map[types.NamespacedName]*Progress
}

// NewProgressTable returns an empty table. seed is the seed of the jitter.
func NewProgressTable(delays Delays, seed uint64) *ProgressTable {
	return &ProgressTable{delays: delays, seed: seed, byHost: map[types.NamespacedName]*Progress{}}
}

// Observe returns the current progress of a host; dark means that its machine has no power. The state of a new host's machine is
// derived from its status.
func (t *ProgressTable) Observe(host *bmov1alpha1.BareMetalHost, dark bool, now time.Time) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := types.NamespacedName{Namespace: host.Namespace, Name: host.Name}
	found, ok := t.byHost[key]
	if !ok {
		found = &Progress{Machine: lifecycle.MachineOf(host), random: rand.New(rand.NewPCG(t.seed, HostNumber(key)))}
		t.byHost[key] = found
	}
	if p := phaseOf(host, found.Machine, dark); !ok || p != found.phase {
		if p.state == bmov1alpha1.StateProvisioning && found.phase.state != p.state {
			found.Started = lifecycle.ImageURL(host)
		}
		found.phase = p
		found.Until, found.observed = now.Add(t.delays.jittered(t.delays.of(p), found.random.Float64())), observedFields(host)
	} else if p.detached && found.observed != observedFields(host) {
		found.Until = now
	}
	return *found
}

// observedFields returns the fields whose change the operator processes at once.
func observedFields(host *bmov1alpha1.BareMetalHost) string {
	return fmt.Sprint(host.Generation, host.Annotations)
}

// SetMachine records the state of a host's machine.
func (t *ProgressTable) SetMachine(key types.NamespacedName, m lifecycle.Machine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.byHost[key]; ok {
		found.Machine = m
	}
}

// Expire ends the delay of the current phase.
func (t *ProgressTable) Expire(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.byHost[key]; ok {
		found.Until = time.Time{}
	}
}

// Forget removes a deleted host.
func (t *ProgressTable) Forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byHost, key)
}
