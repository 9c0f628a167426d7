// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
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
	infra    provider.Cluster
	owner    *clusterv1.Cluster
	kcp      *controlplanev1.KubeadmControlPlane
	machines map[string]*clusterv1.Machine
	infras   map[string]client.Object
}

// observe takes a snapshot with a reader. If seen, the provider's current observations, is given, it takes the capacity and
// health of the domains from it.
func (r *Reconciler) observe(ctx context.Context, reader client.Reader, infra provider.Cluster, owner *clusterv1.Cluster, seen []distribution.DomainObservation) (*observed, error) {
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
	if err := r.observeControlPlane(ctx, reader, o); err != nil {
		return nil, err
	}
	if err := r.observeMachines(ctx, reader, o); err != nil {
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

func (r *Reconciler) observeControlPlane(ctx context.Context, reader client.Reader, o *observed) error {
	ref := o.owner.Spec.ControlPlaneRef
	switch {
	case !ref.IsDefined():
		return nil
	case ref.Kind != string(Kubeadm) || ref.APIGroup != controlplanev1.GroupVersion.Group:
		o.ControlPlane = ControlPlane{Kind: Other, Name: ref.Kind + " " + ref.Name}
		return nil
	}
	if err := r.followControlPlanes(ctx); err != nil {
		return err
	}
	kcp, err := reconcile.Find(ctx, reader, client.ObjectKey{Namespace: o.owner.Namespace, Name: ref.Name}, &controlplanev1.KubeadmControlPlane{})
	if err != nil {
		return err
	}
	if kcp == nil {
		o.ControlPlane.Name = ref.Kind + " " + ref.Name
		return nil
	}
	o.kcp, o.ControlPlane, o.Cluster.Upgrade = kcp, controlPlaneOf(kcp), upgradeOf(o.owner, kcp)
	if o.Mode == faultlinev1.ControlPlaneRebalanceSurgeOne {
		if o.ControlPlane.Version, err = r.version(ctx); err != nil {
			return err
		}
	}
	if o.owner.Spec.Topology.IsDefined() { // the topology controller copies it from there
		o.ControlPlane.RolloutAfter = o.owner.Spec.Topology.ControlPlane.Rollout.After.Time
	}
	return nil
}

// controlPlaneOf returns the relevant state of a KubeadmControlPlane.
func controlPlaneOf(kcp *controlplanev1.KubeadmControlPlane) ControlPlane {
	is := func(condition string) bool { return conditions.IsTrue(kcp, condition) }
	cp := ControlPlane{
		Kind: Kubeadm, Name: "KubeadmControlPlane " + kcp.Name, Paused: annotations.HasPaused(kcp), Deleting: !kcp.DeletionTimestamp.IsZero(),
		Replicas: int(ptr.Deref(kcp.Spec.Replicas, 1)), Observed: kcp.Status.ObservedGeneration == kcp.Generation, MaxSurge: 1,
		UpToDate:    is(controlplanev1.KubeadmControlPlaneMachinesUpToDateCondition),
		RollingOut:  is(controlplanev1.KubeadmControlPlaneRollingOutCondition),
		Scaling:     is(controlplanev1.KubeadmControlPlaneScalingUpCondition) || is(controlplanev1.KubeadmControlPlaneScalingDownCondition),
		Remediating: is(controlplanev1.KubeadmControlPlaneRemediatingCondition),
		Remediation: remediationOf(kcp),
		// A control plane does not report on external etcd, unless another controller sets the condition.
		ExternalEtcd: externalEtcd(kcp),
		EtcdHealthy: is(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition) ||
			externalEtcd(kcp) && !conditions.Has(kcp, controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition),
		ComponentsHealthy: is(controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition),
		RolloutAfter:      kcp.Spec.Rollout.After.Time, Template: kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name,
	}
	for _, condition := range kcp.Status.Conditions {
		if condition.LastTransitionTime.After(cp.Changed) {
			cp.Changed = condition.LastTransitionTime.Time
		}
	}
	if surge := kcp.Spec.Rollout.Strategy.RollingUpdate.MaxSurge; surge != nil {
		cp.MaxSurge = surge.IntValue()
	}
	return cp
}

// remediationOf parses the annotation of a control plane's last remediation.
func remediationOf(kcp *controlplanev1.KubeadmControlPlane) Remediation {
	text, noted := kcp.Annotations[controlplanev1.RemediationInProgressAnnotation]
	if !noted {
		return Remediation{}
	}
	var note struct {
		Machine   string      `json:"machine"`
		Timestamp metav1.Time `json:"timestamp"`
	}
	if json.Unmarshal([]byte(text), &note) != nil {
		return Remediation{Noted: true}
	}
	return Remediation{Noted: true, Machine: note.Machine, At: note.Timestamp.UTC()}
}

// upgradeOf returns the version in a Cluster's topology that has not been passed on to the control plane yet; "" if there is
// none. Until then the control plane neither creates nor deletes machines, except for the version of an upgrade step.
func upgradeOf(owner *clusterv1.Cluster, kcp *controlplanev1.KubeadmControlPlane) string {
	step := owner.Annotations[clusterv1.ClusterTopologyUpgradeStepAnnotation]
	if !owner.Spec.Topology.IsDefined() || owner.Spec.Topology.Version == kcp.Spec.Version || step == kcp.Spec.Version {
		return ""
	}
	return cmp.Or(step, owner.Spec.Topology.Version)
}

func externalEtcd(kcp *controlplanev1.KubeadmControlPlane) bool {
	return len(kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External.Endpoints) > 0
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
		o.Machines = append(o.Machines, m)
	}
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
	if o.kcp == nil || has[clusterv1.TemplateClonedFromGroupKindAnnotation] != o.kcp.Spec.MachineTemplate.Spec.InfrastructureRef.GroupKind().String() {
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
