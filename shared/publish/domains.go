// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// Domains are the failure domains of one cluster during one reconcile.
type Domains struct {
	publisher *Publisher
	object    provider.Cluster
	// cluster is the key of the Cluster, under which metrics are.
	cluster client.ObjectKey
	// former are the domains as they were stored.
	former []faultlinev1.DomainStatus
	// inPlace is what was said before of machines that are elsewhere.
	inPlace string
	ready   bool
}

// Of begins a reconcile of the failure domains of an infrastructure cluster; cluster is the name of its Cluster.
func (p *Publisher) Of(object provider.Cluster, cluster string) *Domains {
	_, known := object.Distribution()
	return &Domains{
		publisher: p, object: object, former: known.FailureDomains,
		inPlace: conditions.GetMessage(object, faultlinev1.MachinesInPlaceCondition),
		cluster: client.ObjectKey{Namespace: object.GetNamespace(), Name: cluster},
	}
}

// Keep reports whether a domain is published for control planes. Such a cluster goes on to be published, with no observations if
// it has no domains any more: the last ones stay.
func (d *Domains) Keep() bool {
	return slices.ContainsFunc(*d.object.FailureDomains(), func(d clusterv1.FailureDomain) bool { return d.ControlPlane != nil && *d.ControlPlane })
}

// None is for a cluster that has no failure domains and had none for control planes: machines can be anywhere.
func (d *Domains) None() {
	d.Withdraw()
	conditions.Delete(d.object, faultlinev1.FailureDomainsReadyCondition)
	conditions.Delete(d.object, faultlinev1.MachinesInPlaceCondition)
	d.ready = true
}

// Withdraw is for a cluster that goes.
func (d *Domains) Withdraw() {
	_, known := d.object.Distribution()
	*d.object.FailureDomains(), *known = nil, faultlinev1.DistributionStatus{}
	d.publisher.Forget(client.ObjectKeyFromObject(d.object))
}

// Publish evaluates the observations and writes the outcome into the status, with where machines are and how many wait for a place. The empty
// object is one of the provider's machines; why returns the reason for which one waits, "" when it does not. The caller reports Result.Condition, or
// what is more telling, and comes again after Result.NextCheck.
func Publish[T client.Object](
	ctx context.Context, d *Domains, seen []distribution.Observation, empty T, why func(T) string,
) (distribution.Result, error) {
	all, err := machines.Read(ctx, d.publisher.Client, watch.OfCluster(d.cluster), empty)
	if err != nil {
		return distribution.Result{}, err
	}
	waiting := map[string]int{}
	for infra := range all.Infra() {
		if reason := why(infra.(T)); reason != "" {
			waiting[reason]++
		}
	}
	return d.publish(seen, counted(all), waiting), nil
}

func (d *Domains) publish(seen []distribution.Observation, machines []distribution.Machine, waiting map[string]int) distribution.Result {
	p := d.publisher
	now := p.Clock.Now()
	wanted, known := d.object.Distribution()
	previous := known.FailureDomains
	if len(previous) == 0 { // it was run by another provider, which publishes domains without a status
		previous = distribution.Adopt(*d.object.FailureDomains(), now)
	}
	result := distribution.Evaluate(distribution.Input{Spec: *wanted, Previous: previous, Observations: seen, Now: now})
	*known, *d.object.FailureDomains() = result.Status(*known, machines, now), result.Published
	conditions.Set(d.object, distribution.InPlace(machines))
	p.known.Store(client.ObjectKeyFromObject(d.object), d.cluster)
	p.Metrics.Set(d.cluster, *known, machines)
	p.Metrics.SetWaiting(d.cluster, waiting)
	return result
}

// Report sets the condition FailureDomainsReady, whatever the type of the one that is given, and whether machines may be
// created. It is called once: a condition that is set twice has changed each time.
func (d *Domains) Report(condition metav1.Condition, ready bool) {
	condition.Type = faultlinev1.FailureDomainsReadyCondition
	conditions.Set(d.object, condition)
	d.ready = ready
}

// Ready reports whether nothing about the failure domains keeps machines from being created.
func (d *Domains) Ready() bool { return d.ready }

// Summarize sums the conditions up: those of these types, which may be none, and that of the failure domains. A failure domain that is
// down does not make the cluster not ready as long as machines can be created: Cluster API would report the whole cluster as not
// available, which it is not.
func (d *Domains) Summarize(types ...string) error {
	switch {
	case !d.ready && (len(types) == 0 || conditions.Has(d.object, faultlinev1.FailureDomainsReadyCondition)):
		types = append(types, faultlinev1.FailureDomainsReadyCondition)
	case len(types) == 0:
		status.True(d.object, clusterv1.ReadyCondition, clusterv1.ReadyReason)
		return nil
	}
	return status.Summarize(d.object, types...)
}

// Announce tells of every change of state since the reconcile began, and of machines that are elsewhere now. It is called when the new states are stored: before that, a
// change that cannot be stored would be told again and again.
func (d *Domains) Announce() {
	if said := conditions.GetMessage(d.object, faultlinev1.MachinesInPlaceCondition); said != "" && said != d.inPlace {
		d.publisher.Recorder.Eventf(d.object, nil, corev1.EventTypeWarning, faultlinev1.ReasonMachinesElsewhere, "Publish", "%s", said)
	}
	before := map[string]faultlinev1.DomainState{}
	for i := range d.former {
		before[d.former[i].Name] = d.former[i].State
	}
	_, known := d.object.Distribution()
	for i := range known.FailureDomains {
		domain := &known.FailureDomains[i]
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
		d.publisher.Recorder.Eventf(d.object, nil, kind, "FailureDomain"+string(domain.State), "Publish", "%s", note)
	}
}

// counted are the Machines of a cluster as they are counted.
func counted(all machines.Snapshot) []distribution.Machine {
	counted := make([]distribution.Machine, 0, len(all.Machines))
	for i := range all.Machines {
		m := &all.Machines[i]
		machine := distribution.Machine{
			Name: m.Name, Domain: domainOf(m), Asked: m.Spec.FailureDomain, ControlPlane: util.IsControlPlaneMachine(m),
		}
		if of := all.InfraOf(m); of != nil {
			machine.Asked, machine.Assigned = provider.Belongs(m, of), m.Spec.FailureDomain == ""
		}
		counted = append(counted, machine)
	}
	return counted
}
