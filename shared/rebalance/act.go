// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
)

// act performs one write with the resourceVersion at which the object was read, so a concurrent write results in a conflict.
func (r *Reconciler) act(ctx context.Context, o *observed, d Decision) error {
	switch d.Action {
	case Record:
		return r.record(ctx, o, *d.Move)
	case MarkMachine:
		return r.annotate(ctx, o.machines[d.Machine.Name], map[string]string{clusterv1.DeleteMachineAnnotation: mark, faultlinev1.MarkedForMoveAnnotation: mark})
	case Trigger:
		first := d.Machine.Triggered
		if first.IsZero() {
			first = o.Now
		}
		return r.annotate(ctx, o.machines[d.Machine.Name], map[string]string{clusterv1.DeleteMachineAnnotation: encodeTriggered(first, d.Machine.Triggers+1)})
	case UnmarkMachine:
		return r.annotate(ctx, o.machines[d.Machine.Name], nil, d.Machine.Mark.Annotations()...)
	case MarkInfrastructure:
		return r.annotate(ctx, o.infras[d.Machine.Name], map[string]string{clusterv1.TemplateClonedFromNameAnnotation: outdatedName(d.Move.ClonedFrom)})
	case RestoreInfrastructure:
		return r.annotate(ctx, o.infras[d.Machine.Name], map[string]string{clusterv1.TemplateClonedFromNameAnnotation: d.Move.ClonedFrom})
	case Close:
		return r.finish(ctx, o, d)
	case RollOut:
		return r.rollOut(ctx, o)
	}
	return nil
}

// annotate sets and removes annotations of an object.
func (r *Reconciler) annotate(ctx context.Context, object client.Object, set map[string]string, remove ...string) error {
	before := object.DeepCopyObject().(client.Object)
	faultlinev1.Rename(object)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range set {
		annotations[key] = value
	}
	for _, key := range remove {
		delete(annotations, key)
	}
	object.SetAnnotations(annotations)
	if err := r.written.Repeats.Write(ctx, r.Client, before, object); err != nil {
		return fmt.Errorf("annotating %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

func (r *Reconciler) record(ctx context.Context, o *observed, move Move) error {
	text, err := move.encode()
	if err != nil {
		return err
	}
	if err := r.annotate(ctx, o.infra, map[string]string{faultlinev1.CurrentMoveAnnotation: text}); err != nil {
		return err
	}
	r.written.Observe(o.infra)
	if move.Aborting != "" {
		r.emitEvents(o, corev1.EventTypeWarning, "AbortingMove", "Aborting the move of Machine %s: %s", move.Machine, move.Why)
		return nil
	}
	r.emitEvents(o, corev1.EventTypeNormal, "MoveStarted", "Moving Machine %s from %s to %s", move.Machine, domainOrNone(move.From), move.To)
	return nil
}

// finish stores the outcome in the status, then removes the record. If the manager stops in between, both are repeated.
func (r *Reconciler) finish(ctx context.Context, o *observed, d Decision) error {
	last := o.outcome(d)
	p := patch.From(o.infra)
	_, known := o.infra.Distribution()
	known.ControlPlane.CurrentMove, known.ControlPlane.LastMove = nil, last
	if err := p.Apply(ctx, r.Client, o.infra); err != nil {
		return err
	}
	r.written.Observe(o.infra)
	if err := r.annotate(ctx, o.infra, nil, faultlinev1.CurrentMoveAnnotation); err != nil {
		return err
	}
	r.written.Observe(o.infra)
	r.Metrics.CountMove(client.ObjectKeyFromObject(o.owner), "control-plane", string(last.Phase))
	r.emitEvents(o, corev1.EventTypeNormal, "Move"+string(last.Phase), "Machine %s, from %s to %s: %s", last.Machine, domainOrNone(last.From), last.To,
		strings.TrimSuffix(string(last.Phase)+": "+last.Message, ": "))
	return nil
}

// rollOut makes the control plane replace all existing machines. In a Cluster with a topology it writes to the Cluster, because
// the topology controller owns the control plane's spec.
func (r *Reconciler) rollOut(ctx context.Context, o *observed) error {
	object, field, after := o.controlPlane, "field spec.rollout.after", o.ControlPlane.Kind.Facts().RolloutAfter(o.controlPlane)
	if o.owner.Spec.Topology.IsDefined() {
		object, field, after = o.owner, "field spec.topology.controlPlane.rollout.after", &o.owner.Spec.Topology.ControlPlane.Rollout.After
	}
	before := object.DeepCopyObject().(client.Object)
	*after = timeOf(o.Now)
	if err := r.written.Repeats.Write(ctx, r.Client, before, object); err != nil {
		return fmt.Errorf("setting rollout.after of %T %s: %w", object, object.GetName(), err)
	}
	if stored := timeOf(o.Now); !after.Equal(&stored) {
		return &patch.RemovedError{Kind: patch.KindOf(r.Client, object), Name: object.GetName(), Removed: []string{field}}
	}
	r.emitEvents(o, corev1.EventTypeNormal, "RolloutStarted", "Replacing all machines of %s to spread them again", o.ControlPlane.Name)
	return nil
}

func (r *Reconciler) emitEvents(o *observed, kind, reason, format string, args ...any) {
	r.Recorder.Eventf(o.infra, nil, kind, reason, "Rebalance", format, args...)
}

func domainOrNone(domain string) string {
	if domain == "" {
		return "no failure domain"
	}
	return domain
}
