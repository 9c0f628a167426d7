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

// Domains holds the failure domains of one cluster during one reconcile. Create it with Publisher.Of.
type Domains struct {
	publisher *Publisher
	object    provider.Cluster
	// cluster is the key of the Cluster, which labels the metrics.
	cluster client.ObjectKey
	// former holds the domains as they were stored before this reconcile.
	former []faultlinev1.DomainStatus
	// inPlace is the previous message about machines in another failure domain than requested.
	inPlace string
	ready   bool
}

// Of starts a reconcile of the failure domains of an infrastructure cluster. cluster is the name of its Cluster. Call it before the
// status is changed, because RecordEvents compares with the stored states.
func (p *Publisher) Of(object provider.Cluster, cluster string) *Domains {
	_, known := object.Distribution()
	d := &Domains{
		publisher: p, object: object, former: known.FailureDomains,
		inPlace: conditions.GetMessage(object, faultlinev1.MachinesInPlaceCondition),
		cluster: client.ObjectKey{Namespace: object.GetNamespace(), Name: cluster},
	}
	p.known.Store(client.ObjectKeyFromObject(object), d.cluster) // other controllers set metrics even if no domains are published
	return d
}

// HasControlPlaneDomain reports whether a domain is published for control planes. Continue to publish such a cluster, with no
// observations if it has no domains any more: its last domains are kept.
func (d *Domains) HasControlPlaneDomain() bool {
	return slices.ContainsFunc(*d.object.FailureDomains(), func(d clusterv1.FailureDomain) bool { return d.ControlPlane != nil && *d.ControlPlane })
}

// Clear clears the published domains and their conditions. Call it for a cluster that has no failure domains and never had one for
// control planes: its machines can be anywhere.
func (d *Domains) Clear() {
	d.unpublish()
	d.publisher.Metrics.Set(d.cluster, faultlinev1.DistributionStatus{}, nil)
	d.publisher.Metrics.SetWaiting(d.cluster, nil)
	conditions.Delete(d.object, faultlinev1.FailureDomainsReadyCondition)
	conditions.Delete(d.object, faultlinev1.MachinesInPlaceCondition)
	d.ready = true
}

// Remove clears the published domains and deletes the metrics. Call it for a cluster that is being deleted. Publisher.Forget deletes the
// metrics that other controllers set afterwards.
func (d *Domains) Remove() {
	d.unpublish()
	d.publisher.deleteMetrics(client.ObjectKeyFromObject(d.object), d.cluster)
}

func (d *Domains) unpublish() {
	_, known := d.object.Distribution()
	*d.object.FailureDomains(), *known = nil, faultlinev1.DistributionStatus{}
}

// Publish evaluates the observations and writes the result to the status, together with the placement of the machines and the
// number of machines that wait. empty is an empty object of the provider's infrastructure machine kind. why returns the reason
// for which a machine waits, "" if it does not. The caller must then call SetReady with Result.Condition or a more specific
// condition, and requeue after Result.NextCheck. If the machines cannot be listed it returns an error and does not change the
// status.
func Publish[T client.Object](
	ctx context.Context, d *Domains, seen []distribution.DomainObservation, empty T, why func(T) string,
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

func (d *Domains) publish(seen []distribution.DomainObservation, machines []distribution.Machine, waiting map[string]int) distribution.Result {
	p := d.publisher
	now := p.Clock.Now()
	wanted, known := d.object.Distribution()
	previous := known.FailureDomains
	if len(previous) == 0 { // taken over from another provider, which publishes domains without a status
		previous = distribution.Adopt(*d.object.FailureDomains(), now)
	}
	result := distribution.Evaluate(distribution.Input{Spec: *wanted, Previous: previous, Observations: seen, Now: now})
	*known, *d.object.FailureDomains() = result.Status(*known, machines, now), result.Published
	conditions.Set(d.object, distribution.InPlace(machines))
	p.Metrics.Set(d.cluster, *known, machines)
	p.Metrics.SetWaiting(d.cluster, waiting)
	return result
}

// SetReady sets the FailureDomainsReady condition from the given one, whatever its type, and records whether machines may be
// created. Call it once per reconcile: setting a condition twice counts as two changes.
func (d *Domains) SetReady(condition metav1.Condition, ready bool) {
	condition.Type = faultlinev1.FailureDomainsReadyCondition
	conditions.Set(d.object, condition)
	d.ready = ready
}

// Ready reports whether machines may be created, as far as failure domains are concerned. It is false until Clear or SetReady has been
// called.
func (d *Domains) Ready() bool { return d.ready }

// Summarize sets the Ready condition from the conditions of the given types, which may be empty. It includes FailureDomainsReady
// only while machines cannot be created: if a single failure domain that is down made the cluster not ready, Cluster API would
// report the whole cluster as not available.
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

// RecordEvents records events for every change of state since the reconcile began, and for machines that are now in another failure
// domain than requested. Call it after the new states are stored. If it were called earlier, a change that fails to be stored
// would be recorded repeatedly.
func (d *Domains) RecordEvents() {
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

// counted converts the Machines of a cluster to the form that distribution.Evaluate counts.
func counted(all machines.Snapshot) []distribution.Machine {
	counted := make([]distribution.Machine, 0, len(all.Machines))
	for i := range all.Machines {
		m := &all.Machines[i]
		machine := distribution.Machine{
			Name: m.Name, Domain: domainOf(m), Requested: m.Spec.FailureDomain, ControlPlane: util.IsControlPlaneMachine(m),
		}
		if of := all.InfraOf(m); of != nil {
			machine.Requested, machine.Assigned = provider.DomainOf(m, of), m.Spec.FailureDomain == ""
		}
		counted = append(counted, machine)
	}
	return counted
}
