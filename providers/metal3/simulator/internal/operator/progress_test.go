// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package operator

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
)

// in returns a host that should be off, and is.
func in(state bmov1alpha1.ProvisioningState, changes ...func(*bmov1alpha1.BareMetalHost)) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{}
	host.Namespace, host.Name = "default", "rack-1-host-001"
	host.Status.Provisioning.State = state
	for _, change := range changes {
		change(host)
	}
	return host
}

func online(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = true }

func powered(host *bmov1alpha1.BareMetalHost) { host.Status.PoweredOn = true }

func uncleaned(host *bmov1alpha1.BareMetalHost) {
	host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
}

func detached(host *bmov1alpha1.BareMetalHost) {
	host.Status.OperationalStatus = bmov1alpha1.OperationalStatusDetached
}

func failed(count int) func(*bmov1alpha1.BareMetalHost) {
	return func(host *bmov1alpha1.BareMetalHost) {
		host.Status.ErrorMessage, host.Status.ErrorCount = "no answer", count
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	d := Delays{
		Registering: 1, Inspecting: 2, Preparing: 3, Provisioning: 4, Deprovisioning: 5, Cleaning: 100, Power: 6, PowerLoss: 7, Retry: time.Second,
	}
	for name, tc := range map[string]struct {
		host *bmov1alpha1.BareMetalHost
		want time.Duration
		dark bool
	}{
		"registering":              {in(bmov1alpha1.StateRegistering), 1, false},
		"inspecting":               {in(bmov1alpha1.StateInspecting), 2, false},
		"preparing":                {in(bmov1alpha1.StatePreparing), 103, false},
		"preparing uncleaned":      {in(bmov1alpha1.StatePreparing, uncleaned), 3, false},
		"provisioning":             {in(bmov1alpha1.StateProvisioning), 4, false},
		"deprovisioning":           {in(bmov1alpha1.StateDeprovisioning), 105, false},
		"deprovisioning uncleaned": {in(bmov1alpha1.StateDeprovisioning, uncleaned), 5, false},
		"available":                {in(bmov1alpha1.StateAvailable), 0, false},
		"switched on":              {in(bmov1alpha1.StateAvailable, online), 6, false},
		"switched off":             {in(bmov1alpha1.StateProvisioned, powered), 6, false},
		"failed once":              {in(bmov1alpha1.StateInspecting, failed(1)), time.Second, false},
		"failed thrice":            {in(bmov1alpha1.StateInspecting, failed(3)), 4 * time.Second, false},
		"failed ever again":        {in(bmov1alpha1.StateInspecting, failed(99)), 64 * time.Second, false},
		"without power":            {in(bmov1alpha1.StateDeprovisioning), 7, true},
		"detached":                 {in(bmov1alpha1.StateDeprovisioning, detached), 10 * time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(d.of(phaseOf(tc.host, lifecycle.MachineOf(tc.host), tc.dark))).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	g.Expect(Delays{Jitter: 0.2}.jittered(10*time.Second, 0)).To(Equal(8 * time.Second))
	g.Expect(Delays{Jitter: 0.2}.jittered(10*time.Second, 1)).To(Equal(12 * time.Second))
}

func TestDelaysAreReproducible(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	delays := Delays{Inspecting: time.Minute, Jitter: 0.5}
	until := func(seed uint64) time.Time {
		return NewProgressTable(delays, seed).Observe(in(bmov1alpha1.StateInspecting), false, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)).Until
	}
	g.Expect(until(3)).To(Equal(until(3)))
	g.Expect(until(3)).NotTo(Equal(until(4)))
}

func TestChangedDetachedHostIsReconciled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	host, table := in(bmov1alpha1.StateDeprovisioning, detached), NewProgressTable(Delays{}, 1)
	g.Expect(table.Observe(host, true, now).Until).To(Equal(now.Add(10 * time.Minute)))
	later := now.Add(time.Minute)
	g.Expect(table.Observe(host, true, later).Until).To(Equal(now.Add(10 * time.Minute)))
	host.Annotations = map[string]string{"touched": ""}
	g.Expect(table.Observe(host, true, later).Until).To(Equal(later))
}
