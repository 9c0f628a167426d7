// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish writes what package distribution decides to where Cluster API and people look: the status of the
// infrastructure cluster, events and metrics.
package publish

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// Publisher evaluates the failure domains of clusters and tells of them.
type Publisher struct {
	Client   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Metrics  *distribution.Metrics

	known sync.Map // key of the infrastructure cluster -> key of its Cluster, under which metrics are
}

// Target is an infrastructure cluster. Its two status fields are read as the last publication and overwritten.
type Target struct {
	// Object gets the events.
	Object client.Object
	// Cluster is the name of the Cluster, which is in the same namespace.
	Cluster string
	Spec    faultlinev1.Distribution
	// Domains is status.failureDomains, from where Cluster API takes them.
	Domains *[]clusterv1.FailureDomain
	// Distribution is status.distribution.
	Distribution *faultlinev1.DistributionStatus
	// Waiting counts the machines that wait for a place in their domain, by reason.
	Waiting map[string]int
}

// Publish evaluates the observations and writes the outcome. The caller sets Result.Condition, calls Announce when the
// status is stored, and comes again after Result.NextCheck.
func (p *Publisher) Publish(ctx context.Context, t Target, seen []distribution.Observation) (distribution.Result, error) {
	machines, err := p.machines(ctx, t)
	if err != nil {
		return distribution.Result{}, err
	}
	now := p.Clock.Now()
	result := distribution.Evaluate(distribution.Input{Spec: t.Spec, Previous: t.previous(now), Observations: seen, Now: now})
	*t.Distribution = result.Status(machines)
	*t.Domains = result.Published
	p.known.Store(client.ObjectKeyFromObject(t.Object), t.key())
	p.Metrics.Set(t.key(), *t.Distribution, machines)
	p.Metrics.SetWaiting(t.key(), t.Waiting)
	return result, nil
}

// Withdraw is for a cluster that goes, or that has no failure domains and had none for control planes.
func (p *Publisher) Withdraw(t Target) {
	*t.Domains, *t.Distribution = nil, faultlinev1.DistributionStatus{}
	p.Forget(client.ObjectKeyFromObject(t.Object))
}

// Forget ends the metrics of an infrastructure cluster, which has gone.
func (p *Publisher) Forget(object client.ObjectKey) {
	if cluster, known := p.known.LoadAndDelete(object); known {
		p.Metrics.Forget(cluster.(client.ObjectKey))
	}
}

// ForControlPlanes reports whether a domain is published for control planes. Such a cluster goes on to be published, with
// no observations if it has no domains any more: the last ones stay.
func (t Target) ForControlPlanes() bool {
	return slices.ContainsFunc(*t.Domains, func(d clusterv1.FailureDomain) bool { return d.ControlPlane != nil && *d.ControlPlane })
}

func (t Target) key() client.ObjectKey {
	return client.ObjectKey{Namespace: t.Object.GetNamespace(), Name: t.Cluster}
}

// previous is the last evaluation. A cluster that was run by another provider has published domains without one.
func (t Target) previous(now time.Time) []faultlinev1.DomainStatus {
	if len(t.Distribution.FailureDomains) == 0 {
		return distribution.Adopt(*t.Domains, now)
	}
	return t.Distribution.FailureDomains
}

// machines lists the cluster's machines as the planner sees them.
func (p *Publisher) machines(ctx context.Context, t Target) ([]distribution.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := p.Client.List(ctx, list, client.InNamespace(t.Object.GetNamespace()),
		client.MatchingLabels{clusterv1.ClusterNameLabel: t.Cluster}); err != nil {
		return nil, fmt.Errorf("listing Machines of %s: %w", t.Cluster, err)
	}
	machines := make([]distribution.Machine, 0, len(list.Items))
	for i := range list.Items {
		machines = append(machines, distribution.Machine{
			Domain: domainOf(&list.Items[i]), ControlPlane: util.IsControlPlaneMachine(&list.Items[i]),
		})
	}
	return machines, nil
}

// domainOf is where the machine is, or was asked to be as long as that is not known.
func domainOf(machine *clusterv1.Machine) string {
	if machine.Status.FailureDomain != "" {
		return machine.Status.FailureDomain
	}
	return machine.Spec.FailureDomain
}

// Announce tells of every change of state since the former domains. It is called when the new ones are stored: before
// that, a change that cannot be stored would be told again and again.
func (p *Publisher) Announce(t Target, former []faultlinev1.DomainStatus) {
	before := map[string]faultlinev1.DomainState{}
	for i := range former {
		before[former[i].Name] = former[i].State
	}
	for i := range t.Distribution.FailureDomains {
		domain := &t.Distribution.FailureDomains[i]
		if before[domain.Name] == domain.State {
			continue
		}
		kind := corev1.EventTypeNormal
		if domain.State != faultlinev1.DomainActive {
			kind = corev1.EventTypeWarning
		}
		note := fmt.Sprintf("Failure domain %s is %s", domain.Name, domain.State)
		if domain.Message != "" {
			note += ": " + domain.Message
		}
		p.Recorder.Eventf(t.Object, nil, kind, "FailureDomain"+string(domain.State), "Publish", "%s", note)
	}
}

// MachineMoved passes Machines that change the number of machines in a failure domain.
func MachineMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return domainOf(e.ObjectOld.(*clusterv1.Machine)) != domainOf(e.ObjectNew.(*clusterv1.Machine))
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
