// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler spreads the control planes of a provider's clusters. It decides from Client, which may be a cache. Before each write
// it decides again from Live, and writes with the resourceVersions read there.
type Reconciler struct {
	Client   client.Client
	Live     client.Reader
	Provider provider.Provider
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Metrics  *distribution.Metrics
	// Versions has the versions of control-plane providers by their name, used if clusterctl's inventory does not contain them.
	Versions map[string]string

	filter    watch.Filter
	written   patch.Expectations
	installed installed
	// cache reads watched objects of any kind; it is nil if nothing is watched.
	cache client.Reader
	// follow starts to watch control planes of a kind; it is nil if nothing is watched.
	follow func(ctx context.Context, namespace string, kind machines.ControlPlaneKind, object client.Object) error
	// followInventory starts to watch the inventory of installed providers; it may be nil, too.
	followInventory func(context.Context) error
}

// steps is more than the number of writes in a move without interference.
const steps = 10

// Reconcile reconciles one infrastructure cluster.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	infra, owner, err := r.read(ctx, r.Client, req.NamespacedName)
	if err != nil || infra == nil {
		return ctrl.Result{}, err
	}
	if wait := r.written.Backoff(infra); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	result, err := r.reconcile(ctx, infra, owner)
	return reconcile.Outcome(result, err)
}

// read returns the infrastructure cluster and its Cluster. Both are nil if they must not be reconciled: they are paused or being
// deleted, or another manager is responsible for them.
func (r *Reconciler) read(ctx context.Context, reader client.Reader, key client.ObjectKey) (provider.Cluster, *clusterv1.Cluster, error) {
	infra := r.Provider.NewCluster()
	if err := reader.Get(ctx, key, infra); err != nil {
		if apierrors.IsNotFound(err) {
			r.written.Forget(key)
			return nil, nil, nil
		}
		return nil, nil, err
	}
	if !r.filter.Passes(infra) || !infra.GetDeletionTimestamp().IsZero() {
		return nil, nil, nil
	}
	owner, err := reconcile.OwnerCluster(ctx, reader, infra)
	if err != nil || owner == nil || annotations.IsPaused(owner, infra) || !owner.DeletionTimestamp.IsZero() {
		return nil, nil, err
	}
	return infra, owner, nil
}

func (r *Reconciler) reconcile(ctx context.Context, infra provider.Cluster, owner *clusterv1.Cluster) (ctrl.Result, error) {
	o, err := r.observe(ctx, r.cached(), infra, owner, nil)
	if err != nil {
		return ctrl.Result{}, r.unreadable(ctx, infra, err)
	}
	d := Decide(o.Snapshot)
	ctrl.LoggerFrom(ctx).V(4).Info("Decided", "action", d.Action, "balanced", d.Balanced, "plan", d.Plan, "guards", d.Against)
	if d.Action != Nothing {
		if o, d, err = r.advance(ctx, client.ObjectKeyFromObject(infra)); err != nil || o == nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: d.After}, r.write(ctx, o, d)
}

// advance reads the live state, decides, and writes, until nothing is left to write. It returns the last observed state, nil if
// the cluster must no longer be reconciled.
func (r *Reconciler) advance(ctx context.Context, key client.ObjectKey) (*observed, Decision, error) {
	var removed *patch.RemovedError
	for range steps {
		infra, owner, err := r.read(ctx, r.Live, key)
		if err != nil || infra == nil {
			return nil, Decision{}, err
		}
		r.installed.forget()
		seen, err := r.Provider.Domains(ctx, infra)
		if err != nil {
			return nil, Decision{}, err
		}
		o, err := r.observe(ctx, readers{r.Live, r.Live}, infra, owner, seen)
		if err != nil {
			return nil, Decision{}, r.unreadable(ctx, infra, err)
		}
		if removed != nil {
			o.Removed = removed.Error()
		}
		d := Decide(o.Snapshot)
		if d.Action == Nothing {
			return o, d, nil
		}
		if err := r.act(ctx, o, d); err != nil && !errors.As(err, &removed) {
			return nil, Decision{}, err
		}
	}
	return nil, Decision{}, fmt.Errorf("moving a machine of %s: %w", key.Name, errUndone)
}

// write stores condition and status.
func (r *Reconciler) write(ctx context.Context, o *observed, d Decision) error {
	before := conditions.Get(o.infra, faultlinev1.ControlPlaneBalancedCondition).DeepCopy() // conditions.Set changes it in place
	_, known := o.infra.Distribution()
	moved := known.ControlPlane.CurrentMove
	p := patch.From(o.infra)
	p.SharedConditions = true
	if o.Mode == faultlinev1.ControlPlaneRebalanceOff && o.Move == nil || len(o.Domains) == 0 && o.Move == nil {
		removeStatus(o.infra)
	} else {
		o.report(d)
	}
	version := o.infra.GetResourceVersion()
	if err := p.Apply(ctx, r.Client, o.infra); err != nil {
		return err
	}
	if o.infra.GetResourceVersion() == version {
		return nil
	}
	r.written.Observe(o.infra)
	if o.Move == nil { // events about a move are recorded by its writes
		r.reportChange(o, before)
	}
	if d.LeftOver != "" && (before == nil || !strings.Contains(before.Message, d.LeftOver)) {
		r.emitEvents(o, corev1.EventTypeWarning, faultlinev1.ReasonRemediationLeftOver, "%s", d.LeftOver)
	}
	r.reportReplacement(o, moved)
	return nil
}

// reportReplacement records an event for a replacement that was deleted while the machine that it replaces still exists.
func (r *Reconciler) reportReplacement(o *observed, before *faultlinev1.MachineMove) {
	_, known := o.infra.Distribution()
	now := known.ControlPlane.CurrentMove
	if before == nil || now == nil || before.Machine != now.Machine || before.Replacement == "" || o.machines[before.Replacement] != nil {
		return
	}
	r.emitEvents(o, corev1.EventTypeWarning, "ReplacementGone", "Machine %s, the replacement of Machine %s, was deleted: %s", before.Replacement, now.Machine, now.Message)
}

// reportChange records an event if the condition has become False, or is False for another reason.
func (r *Reconciler) reportChange(o *observed, before *metav1.Condition) {
	now := conditions.Get(o.infra, faultlinev1.ControlPlaneBalancedCondition)
	if now == nil || now.Status != metav1.ConditionFalse || before != nil && before.Status == now.Status && before.Reason == now.Reason {
		return
	}
	r.emitEvents(o, corev1.EventTypeWarning, now.Reason, "The control plane is not balanced: %s", now.Message)
}

// unreadable reports in the condition that the record of a move is damaged. It returns any other error.
func (r *Reconciler) unreadable(ctx context.Context, infra provider.Cluster, err error) error {
	if _, damaged := decode(faultlinev1.Value(infra.GetAnnotations(), faultlinev1.CurrentMoveAnnotation)); damaged == nil {
		return err
	}
	p := patch.From(infra)
	p.SharedConditions = true
	conditions.Set(infra, metav1.Condition{
		Type: faultlinev1.ControlPlaneBalancedCondition, Status: metav1.ConditionUnknown, Reason: faultlinev1.ReasonMoveRecordInvalid,
		Message: "The annotation " + faultlinev1.CurrentMoveAnnotation + " cannot be read: " + err.Error() + ": remove " + clusterv1.DeleteMachineAnnotation +
			" from the Machine that has " + faultlinev1.MarkedForMoveAnnotation + ", then remove the annotation",
	})
	return p.Apply(ctx, r.Client, infra)
}
