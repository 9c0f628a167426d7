// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/text"
)

// observed is a snapshot with the objects from which it was taken, so that they can be written with the resourceVersions at which
// they were read.
type observed struct {
	Snapshot
	infra provider.Cluster
	owner *clusterv1.Cluster
	// controlPlane is nil if it does not exist or is of an unknown kind.
	controlPlane client.Object
	machines     map[string]*clusterv1.Machine
	infras       map[string]client.Object
}

// readers reads either from caches or from the API server.
type readers struct {
	client.Reader
	// controlPlanes reads control planes of any kind.
	controlPlanes client.Reader
}

// cached returns the caches.
func (r *Reconciler) cached() readers {
	if r.cache == nil {
		return readers{r.Client, r.Client}
	}
	return readers{r.Client, r.cache}
}

// observe takes a snapshot. If seen, the provider's current observations, is given, it takes the capacity and health of the domains
// from it.
func (r *Reconciler) observe(ctx context.Context, from readers, infra provider.Cluster, owner *clusterv1.Cluster, seen []distribution.DomainObservation) (*observed, error) {
	wanted, known := infra.Distribution()
	o := &observed{
		Snapshot: Snapshot{
			Now: r.Clock.Now(), Mode: wanted.Rebalance(), Stabilization: wanted.Stabilization(), Since: known.FailureDomainsSince.Time, Intents: wanted.FailureDomains,
			Domains: domainsOf(known.FailureDomains, owner.Status.FailureDomains, seen), Last: known.ControlPlane.LastMove,
			Cluster: Cluster{
				Name: owner.Name, Paused: annotations.IsPaused(owner, infra),
				Deleting: !owner.DeletionTimestamp.IsZero() || !infra.GetDeletionTimestamp().IsZero(),
			},
		},
		infra: infra, owner: owner, machines: map[string]*clusterv1.Machine{}, infras: map[string]client.Object{},
	}
	var err error
	if o.Move, err = decode(faultlinev1.Value(infra.GetAnnotations(), faultlinev1.CurrentMoveAnnotation)); err != nil {
		return nil, err
	}
	if err := r.observeControlPlane(ctx, from, o); err != nil {
		return nil, err
	}
	if err := r.observeMachines(ctx, from, o); err != nil {
		return nil, err
	}
	return o, r.observeCapacity(ctx, o)
}

// observeCapacity limits the capacity of the domains to what suits the control plane's machines. All are cloned from one template,
// so the newest machine represents them.
func (r *Reconciler) observeCapacity(ctx context.Context, o *observed) error {
	can := r.Provider.Capabilities()
	if len(o.Machines) == 0 {
		return nil
	}
	infra := o.infras[slices.MinFunc(o.Machines, func(a, b Machine) int { return -a.Created.Compare(b.Created) }).Name]
	if infra == nil {
		return nil
	}
	if err := observeUnsuited(ctx, can, infra, o); err != nil {
		return err
	}
	if can.Capacity == nil || can.Requirements(infra) == "" {
		return nil
	}
	suits, err := can.Capacity(ctx, infra)
	if err != nil {
		return fmt.Errorf("reading the capacity for machines of %s: %w", o.ControlPlane.Name, err)
	}
	for i := range o.Domains {
		suited := suits[o.Domains[i].Name]
		if capacity := o.Domains[i].Capacity; capacity == nil || *capacity > suited {
			o.Domains[i].Capacity = &suited
		}
	}
	return nil
}

// observeUnsuited checks for each domain that could receive a machine whether one created like this one could run there.
func observeUnsuited(ctx context.Context, can provider.Capabilities, infra client.Object, o *observed) error {
	if can.Unsuited == nil {
		return nil
	}
	for i := range o.Domains {
		d := &o.Domains[i]
		if d.State != failuredomain.Active || !d.ControlPlane {
			continue
		}
		var err error
		if d.Unsuited, err = can.Unsuited(ctx, infra, d.Name); err != nil {
			return fmt.Errorf("checking whether failure domain %[2]s suits machines of %[1]s: %[3]w", o.ControlPlane.Name, d.Name, err)
		}
	}
	return nil
}

func (r *Reconciler) observeControlPlane(ctx context.Context, from readers, o *observed) error {
	ref := o.owner.Spec.ControlPlaneRef
	if !ref.IsDefined() {
		return nil
	}
	o.ControlPlane.Name = ref.Kind + " " + ref.Name
	kind := machines.ControlPlaneKindOf(ref.GroupKind())
	if kind == nil {
		o.ControlPlane.Unable = "is not " + machines.ControlPlaneKindNames() + " and cannot replace single machines"
		return nil
	}
	object, err := r.controlPlane(ctx, from, kind, client.ObjectKey{Namespace: o.owner.Namespace, Name: ref.Name})
	if err != nil || object == nil {
		return err
	}
	seen, err := kind.Observe(object)
	switch {
	case err != nil && o.Move != nil: // without its template, nothing could be restored
		return err
	case err != nil:
		o.ControlPlane.Unable = fmt.Sprintf("cannot be read (%s)", err)
		return nil
	}
	o.controlPlane, o.ControlPlane = object, seen
	o.Cluster.Upgrade = upgradeOf(o.owner, o.ControlPlane.Kubernetes)
	if o.Mode == faultlinev1.ControlPlaneRebalanceSurgeOne {
		if o.ControlPlane.Version, err = r.version(ctx, kind.Facts()); err != nil {
			return err
		}
	}
	if o.owner.Spec.Topology.IsDefined() { // the topology controller copies it from there
		o.ControlPlane.RolloutAfter = o.owner.Spec.Topology.ControlPlane.Rollout.After.Time
	}
	return nil
}

// controlPlane reads a control plane; nil if it does not exist, or if its CRD is not installed.
func (r *Reconciler) controlPlane(ctx context.Context, from readers, kind machines.ControlPlaneKind, key client.ObjectKey) (client.Object, error) {
	object, err := kind.New(r.Client.RESTMapper())
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding the version of %s: %w", kind.Facts().Kind, err)
	}
	if r.follow != nil {
		if err := r.follow(ctx, key.Namespace, kind, object); err != nil {
			return nil, err
		}
	}
	return reconcile.Find(ctx, from.controlPlanes, key, object)
}

// upgradeOf returns the version in a Cluster's topology that has not been passed on to the control plane, which has version is,
// yet; "" if there is none. Until then the control plane neither creates nor deletes machines, except for the version of an upgrade
// step.
func upgradeOf(owner *clusterv1.Cluster, is string) string {
	step := owner.Annotations[clusterv1.ClusterTopologyUpgradeStepAnnotation]
	if !owner.Spec.Topology.IsDefined() || owner.Spec.Topology.Version == is || step == is {
		return ""
	}
	return cmp.Or(step, owner.Spec.Topology.Version)
}

// observeMachines reads the control-plane Machines and their infrastructure machines.
func (r *Reconciler) observeMachines(ctx context.Context, reader client.Reader, o *observed) error {
	list, err := machines.OfControlPlane(ctx, reader, client.ObjectKeyFromObject(o.owner))
	if err != nil {
		return err
	}
	gvk, err := apiutil.GVKForObject(r.Provider.NewMachine(), r.Client.Scheme())
	if err != nil {
		return fmt.Errorf("finding the kind of %T: %w", r.Provider.NewMachine(), err)
	}
	o.MachineKind = gvk.Kind
	var created []time.Time
	for i := range list {
		machine := &list[i]
		m := machineOfObject(machine)
		infra, err := r.infrastructureOf(ctx, reader, machine, gvk.GroupKind())
		if err != nil {
			return err
		}
		if infra != nil {
			o.infras[m.Name] = infra
			m.Infrastructure, m.ClonedFrom = true, o.clonedFrom(infra)
			if m.Observed == "" {
				m.Observed = r.Provider.Location(infra).Domain
			}
		}
		o.machines[m.Name] = machine
		o.Machines, created = append(o.Machines, m), append(created, m.Created)
	}
	o.ControlPlane.Remediation = o.ControlPlane.Remediation.Heeded(created)
	return nil
}

// infrastructureOf returns nil if the infrastructure machine belongs to another provider or does not exist.
func (r *Reconciler) infrastructureOf(ctx context.Context, reader client.Reader, machine *clusterv1.Machine, ours schema.GroupKind) (client.Object, error) {
	ref := machine.Spec.InfrastructureRef
	if ref.GroupKind() != ours {
		return nil, nil
	}
	found, err := reconcile.Find(ctx, reader, client.ObjectKey{Namespace: machine.Namespace, Name: ref.Name}, r.Provider.NewMachine())
	if err != nil || found == nil {
		return nil, err
	}
	return found, nil
}

// clonedFrom returns the template from which an infrastructure machine was cloned, according to its annotations; "" if the
// control plane would not compare it.
func (o *observed) clonedFrom(infra client.Object) string {
	has := infra.GetAnnotations()
	if o.controlPlane == nil || has[clusterv1.TemplateClonedFromGroupKindAnnotation] != o.ControlPlane.TemplateKind {
		return ""
	}
	return has[clusterv1.TemplateClonedFromNameAnnotation]
}

// machineOfObject returns the relevant state of a Machine. The result is comparable: an event that does not change it is dropped.
func machineOfObject(machine *clusterv1.Machine) Machine {
	m := Machine{
		Name: machine.Name, UID: machine.UID, Created: machine.CreationTimestamp.Time, Requested: machine.Spec.FailureDomain, Observed: machine.Status.FailureDomain,
		Ready: conditions.IsTrue(machine, clusterv1.MachineReadyCondition), HasNode: machine.Status.NodeRef.IsDefined(),
		Deleting: !machine.DeletionTimestamp.IsZero(), Deletion: distribution.DeletionPhase(machine),
		DeletingReason: conditions.GetReason(machine, clusterv1.MachineDeletingCondition),
		Unhealthy:      machines.Unhealthy(machine),
		Outdated:       conditions.IsFalse(machine, clusterv1.MachineUpToDateCondition),
	}
	if ready := conditions.Get(machine, clusterv1.MachineReadyCondition); ready != nil && ready.Status != metav1.ConditionTrue {
		m.Waits = cmp.Or(text.SingleLine(ready.Message), ready.Reason)
	}
	m.Mark, m.Triggered, m.Triggers = markOf(machine)
	return m
}

// mark is the value of delete-machine that Faultline sets, optionally followed by the suffix of encodeTriggered.
const mark = "faultline-rebalance"

func markOf(machine *clusterv1.Machine) (whose machines.Mark, triggered time.Time, triggers int) {
	whose, note := machines.MarkOf(machine, mark)
	triggered, triggers = decodeTriggered(note)
	return whose, triggered, triggers
}

// encodeTriggered returns the value of delete-machine after a Trigger. Other controllers only check that the annotation exists.
func encodeTriggered(first time.Time, times int) string {
	return fmt.Sprintf("%s %s %d", mark, first.UTC().Format(time.RFC3339), times)
}

func decodeTriggered(text string) (first time.Time, times int) {
	at, count, _ := strings.Cut(text, " ")
	first, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return time.Time{}, 0
	}
	if _, err := first.UTC().MarshalText(); err != nil { // a year that cannot be formatted in UTC
		return time.Time{}, 0
	}
	if _, err := fmt.Sscan(count, &times); err != nil {
		return time.Time{}, 0
	}
	return first, times
}

// domainsOf merges the stored domains, those listed by the Cluster, and the current observations if available.
func domainsOf(known []faultlinev1.DomainStatus, listed []clusterv1.FailureDomain, seen []distribution.DomainObservation) []Domain {
	now := map[string]distribution.DomainObservation{}
	for _, observation := range seen {
		now[observation.Name] = observation
	}
	takes := map[string]bool{}
	for _, domain := range listed {
		takes[domain.Name] = ptr.Deref(domain.ControlPlane, false)
	}
	domains := make([]Domain, 0, len(known))
	for i := range known {
		k := &known[i]
		d := Domain{
			Name: k.Name, State: failuredomain.State(k.State), ControlPlane: ptr.Deref(k.ControlPlane, false), Listed: takes[k.Name],
			Healthy: k.Health == faultlinev1.DomainHealthy && k.UnhealthySince.IsZero() && k.StaleSince.IsZero(),
		}
		capacity := k.Capacity
		if observation, looked := now[k.Name]; looked {
			d.Healthy, capacity = observation.Health == distribution.Healthy, observation.Capacity
		}
		if capacity != nil {
			d.Capacity = ptr.To(int(*capacity))
		}
		domains = append(domains, d)
	}
	return domains
}

// timeOf returns a time in the API's precision, whole seconds.
func timeOf(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }
