// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package chaos

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
)

// counted is a MultiCluster of a provider that counts capacity, uncounted of one that does not.
type (
	counted   struct{ provider.MultiCluster }
	uncounted struct {
		counted
		added map[string]int
	}
)

func (u uncounted) AddCapacity(_ context.Context, domain string, machines int) error {
	u.added[domain] += machines
	return nil
}

func TestCapacityIsAddedWhenFaultsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		sites provider.MultiCluster
		room  int
		left  int // capacity, if it is limited
		added map[string]int
	}{
		"counted":                   {sites: counted{}, room: 2, left: 2},
		"not counted":               {sites: uncounted{added: map[string]int{}}, room: 2, added: map[string]int{"s7-a": roomy, "s7-b": roomy}},
		"not counted, enough there": {sites: uncounted{}, room: roomy},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := &controlPlane{script: script{seed: 7, domains: 2, capacity: test.room}, environment: &commonEnvironment{sites: test.sites}}
			p.recorder = &recorder{members: func(context.Context) []workload.Member { return nil }, changed: func(context.Context, moment, moment) {}}
			p.recorder.done(t.Context(), "begin", func(m *moment) { m.capacity = test.room % roomy })
			g.Expect(p.addCapacity(t.Context())).To(Succeed())
			g.Expect(p.recorder.last().capacity).To(Equal(test.left))
			if is, ok := test.sites.(uncounted); ok {
				g.Expect(is.added).To(Equal(test.added))
			}
		})
	}
}
