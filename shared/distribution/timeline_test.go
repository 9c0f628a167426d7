// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

const (
	grace = 2 * time.Minute
	hold  = 10 * time.Minute
)

// start is the time at which every timeline begins.
func start() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// timeline evaluates one cluster repeatedly and stores the status in between, as a provider does.
type timeline struct {
	t       rapid.TB
	spec    faultlinev1.Distribution
	domains []faultlinev1.DomainStatus
}

func newTimeline(tb testing.TB) *timeline {
	tb.Helper()
	return &timeline{t: tb}
}

// at evaluates observations at a time after the start.
func (l *timeline) at(after time.Duration, seen ...distribution.DomainObservation) distribution.Result {
	l.t.Helper()
	result := distribution.Evaluate(distribution.Input{
		Spec: l.spec, Previous: l.domains, Observations: seen, Now: start().Add(after),
	})
	l.domains = stored(l.t, result.Domains)
	return result
}

// stored returns a status after it was written to the API server and read back.
func stored(t rapid.TB, domains []faultlinev1.DomainStatus) []faultlinev1.DomainStatus {
	t.Helper()
	content, err := json.Marshal(domains)
	if err != nil {
		t.Fatal(err)
	}
	var back []faultlinev1.DomainStatus
	if err := json.Unmarshal(content, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// see returns an observation of a domain meant for control planes.
func see(name string, health distribution.Health) distribution.DomainObservation {
	seen := distribution.DomainObservation{Name: name, ControlPlane: true, Health: health}
	switch health {
	case distribution.Unhealthy:
		seen.Reason, seen.Message = "DatastoreNotFound", "datastore ds-"+name+" is gone"
	case distribution.Unknown:
		seen.Reason, seen.Message = "VCenterUnreachable", "connection refused"
	}
	return seen
}

func good(name string) distribution.DomainObservation    { return see(name, distribution.Healthy) }
func bad(name string) distribution.DomainObservation     { return see(name, distribution.Unhealthy) }
func unknown(name string) distribution.DomainObservation { return see(name, distribution.Unknown) }

// wants returns a spec with the intents given as pairs of domain and state.
func wants(pairs ...string) faultlinev1.Distribution {
	spec := faultlinev1.Distribution{}
	for i := 0; i < len(pairs); i += 2 {
		spec.FailureDomains = append(spec.FailureDomains, faultlinev1.FailureDomainIntent{
			Name: pairs[i], State: faultlinev1.DomainState(pairs[i+1]),
		})
	}
	return spec
}

// status returns the status of the named domain.
func status(t rapid.TB, result distribution.Result, name string) faultlinev1.DomainStatus {
	t.Helper()
	for _, domain := range result.Domains {
		if domain.Name == name {
			return domain
		}
	}
	t.Fatalf("no domain %s in %+v", name, result.Domains)
	return faultlinev1.DomainStatus{}
}

// publishedAs returns what is published for the named domain.
func publishedAs(t rapid.TB, result distribution.Result, name string) clusterv1.FailureDomain {
	t.Helper()
	for _, domain := range result.Published {
		if domain.Name == name {
			return domain
		}
	}
	t.Fatalf("no domain %s in %+v", name, result.Published)
	return clusterv1.FailureDomain{}
}

// states returns the states of all domains by name.
func states(result distribution.Result) map[string]faultlinev1.DomainState {
	all := map[string]faultlinev1.DomainState{}
	for _, domain := range result.Domains {
		all[domain.Name] = domain.State
	}
	return all
}

// controlPlanes lists the domains published for control planes, in order.
func controlPlanes(result distribution.Result) []string {
	var names []string
	for _, domain := range result.Published {
		if domain.ControlPlane != nil && *domain.ControlPlane {
			names = append(names, domain.Name)
		}
	}
	return names
}
