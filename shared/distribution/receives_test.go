// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

const (
	pendingWaits = distribution.PendingWaits
	notReady     = faultlinev1.ReasonFailureDomainNotReady
)

type reception struct {
	wanted  faultlinev1.Distribution
	known   faultlinev1.DistributionStatus
	pending distribution.Pending
	state   faultlinev1.DomainState
	reason  string
	message string
}

func receptions() map[string]reception {
	known := func(state faultlinev1.DomainState, health faultlinev1.DomainHealth, reason string) faultlinev1.DistributionStatus {
		return faultlinev1.DistributionStatus{FailureDomains: []faultlinev1.DomainStatus{
			{Name: "other", State: faultlinev1.DomainEvicting, Health: faultlinev1.DomainUnhealthy, Reason: "Unhealthy"},
			{Name: "a", State: state, Health: health, Reason: reason, Message: "so it was seen"},
		}}
	}
	wants := func(state faultlinev1.DomainState) faultlinev1.Distribution {
		return faultlinev1.Distribution{FailureDomains: []faultlinev1.FailureDomainIntent{{Name: "a", State: state}}}
	}
	var (
		nothing  faultlinev1.Distribution
		unlisted faultlinev1.DistributionStatus
	)
	return map[string]reception{
		"active":                   {wanted: nothing, known: known(faultlinev1.DomainActive, faultlinev1.DomainHealthy, ""), state: faultlinev1.DomainActive},
		"not listed by the status": {wanted: nothing, known: unlisted, state: faultlinev1.DomainActive},
		"not listed by the status and cordoned": {
			wanted: wants(faultlinev1.DomainCordoned), known: unlisted,
			state: faultlinev1.DomainCordoned, reason: notReady, message: "as set in spec.distribution; let it receive machines again, or delete the Machine",
		},
		"cordoned for its health": {
			wanted: nothing, known: known(faultlinev1.DomainCordoned, faultlinev1.DomainUnhealthy, "DatastoreNotFound"),
			state: faultlinev1.DomainCordoned, reason: "DatastoreNotFound", message: "is Cordoned and receives no machines: so it was seen",
		},
		"cordoned for its health where machines wait inside": {
			wanted: nothing, known: known(faultlinev1.DomainCordoned, faultlinev1.DomainUnhealthy, "DatastoreNotFound"), pending: pendingWaits,
			state: faultlinev1.DomainCordoned, reason: "DatastoreNotFound", message: "so it was seen",
		},
		"never seen healthy": {
			wanted: nothing, known: known(faultlinev1.DomainCordoned, faultlinev1.DomainPending, "NotYetHealthy"),
			state: faultlinev1.DomainCordoned, reason: notReady, message: "so it was seen",
		},
		"never seen healthy where machines wait inside": {
			wanted: nothing, known: known(faultlinev1.DomainCordoned, faultlinev1.DomainPending, "NotYetHealthy"), pending: pendingWaits,
			state: faultlinev1.DomainActive,
		},
		"never seen healthy and evicted where machines wait inside": {
			wanted: wants(faultlinev1.DomainEvicting), known: known(faultlinev1.DomainEvicting, faultlinev1.DomainPending, "EvictionRequested"), pending: pendingWaits,
			state: faultlinev1.DomainEvicting, reason: notReady, message: "; let it receive machines again, or delete the Machine: its control plane creates another one in another failure domain",
		},
		"evicted and the status does not say so yet": {
			wanted: wants(faultlinev1.DomainEvicting), known: known(faultlinev1.DomainActive, faultlinev1.DomainHealthy, ""),
			state: faultlinev1.DomainEvicting, reason: notReady, message: "failure domain a will be Evicting",
		},
		"wanted again and the status does not say so yet": {
			wanted: nothing, known: known(faultlinev1.DomainCordoned, faultlinev1.DomainHealthy, faultlinev1.ReasonCordonRequested),
			state: faultlinev1.DomainCordoned, reason: notReady, message: "so it was seen",
		},
	}
}

func TestReceives(t *testing.T) {
	t.Parallel()
	for name, tc := range receptions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			state, refusal := distribution.Receives(tc.wanted, tc.known, "a", tc.pending)
			g.Expect(state).To(Equal(tc.state))
			g.Expect(refusal.Reason).To(Equal(tc.reason))
			g.Expect(refusal.Message).To(ContainSubstring(tc.message))
			if state == faultlinev1.DomainActive {
				g.Expect(refusal).To(BeZero())
			} else {
				g.Expect(refusal).NotTo(BeZero())
			}
		})
	}
}

// A reason that package distribution sets for a domain must be mapped by refusalOf. Otherwise it would become a machine's reason
// that no provider counts as a wait for placement.
func TestRefusalReasons(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	given, err := providertest.ReasonsNamed("explain.go", "")
	g.Expect(err).NotTo(HaveOccurred())
	known, err := providertest.ReasonsNamed("receives.go", "refusalOf")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(given).NotTo(BeEmpty())
	g.Expect(known).To(ContainElements(given))
}

func TestReceivesAfterFailedLookup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	known := faultlinev1.DistributionStatus{FailureDomains: []faultlinev1.DomainStatus{
		{Name: "a", State: faultlinev1.DomainCordoned, Reason: "HarvesterConnectionFailed", StaleSince: metav1.Now()},
	}}
	_, refusal := distribution.Receives(faultlinev1.Distribution{}, known, "a", distribution.PendingRefuses)
	g.Expect(refusal.Reason).To(Equal(notReady))
}
