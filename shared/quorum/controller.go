// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler manages the hooks of the control-plane Machines of a provider's Clusters. It decides from caches. Before it writes,
// it decides again from Live, and writes with the resourceVersions read there.
type Reconciler struct {
	Client   client.Client
	Live     client.Reader
	Provider provider.Provider
	Recorder events.EventRecorder

	filter watch.Filter
	// hooks writes the hook annotations.
	hooks                    patch.Repeats
	clusterKind, machineKind schema.GroupKind
	// cached reads from caches.
	cached source
	// follow starts to watch control planes of a kind.
	follow func(ctx context.Context, namespace string, object *unstructured.Unstructured) error
}

// maxWrites is more than the number of writes between the deletion of a Machine and its removal without interference.
const maxWrites = 5

// errUndone is returned if there is no end of writes.
var errUndone = errors.New("other clients change the annotations after each write")

// Reconcile reconciles the control plane of one Cluster.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o, err := r.observe(ctx, r.cached, req.NamespacedName)
	if o == nil {
		return ctrl.Result{}, err
	}
	if log := ctrl.LoggerFrom(ctx).V(4); log.Enabled() {
		log.Info("Decided", "verdicts", Decide(o.Snapshot))
	}
	if err == nil && len(o.toWrite()) > 0 {
		err = r.advance(ctx, req.NamespacedName)
	}
	var wait time.Duration
	o.Undone, wait = r.undone(o, err)
	return reconcile.Outcome(ctrl.Result{RequeueAfter: wait}, err, r.report(ctx, o))
}

// undone returns the message about hooks that another writer removes, and how long it is reported at most.
func (r *Reconciler) undone(o *observed, err error) (string, time.Duration) {
	for i := range o.machines { // always the same one first
		if undone := r.hooks.Undone(r.Client, &o.machines[i]); undone != nil {
			return undone.Error(), undone.Ends
		}
	}
	if undone := (*patch.RemovedError)(nil); errors.As(err, &undone) {
		return undone.Error(), 0
	}
	return "", 0
}

// advance reads the live state, decides, and writes, until nothing is left to write.
func (r *Reconciler) advance(ctx context.Context, key client.ObjectKey) error {
	for range maxWrites {
		o, err := r.observe(ctx, source{r.Live, r.Live}, key)
		if err != nil || o == nil {
			return err
		}
		verdicts := o.toWrite()
		if len(verdicts) == 0 {
			return nil
		}
		if err := r.writeAll(ctx, o, verdicts); err != nil {
			return err
		}
	}
	return fmt.Errorf("reconciling the quorum hooks of Cluster %s: %w", key.Name, errUndone)
}

// writeAll continues with the other machines if another writer removes the hook of one.
func (r *Reconciler) writeAll(ctx context.Context, o *observed, verdicts map[int]Verdict) error {
	var undone error
	for _, i := range slices.Sorted(maps.Keys(verdicts)) {
		err := r.write(ctx, &o.machines[i], verdicts[i])
		problem := &patch.RemovedError{}
		switch {
		case errors.As(err, &problem):
			if undone == nil || !problem.Paused {
				undone = err
			}
		case err != nil:
			return err
		}
	}
	return undone
}

// toWrite returns the verdicts that require a write, by the index of their machine.
func (o *observed) toWrite() map[int]Verdict {
	verdicts := map[int]Verdict{}
	for i, verdict := range Decide(o.Snapshot) {
		if verdict.Action != Leave && (verdict.Action != Hold || verdict.Why != o.Machines[i].Why) {
			verdicts[i] = verdict
		}
	}
	return verdicts
}

// write performs a verdict with the resourceVersion at which the Machine was read, so a concurrent write results in a conflict.
func (r *Reconciler) write(ctx context.Context, machine *clusterv1.Machine, verdict Verdict) error {
	before := machine.DeepCopy()
	switch verdict.Action {
	case Protect, Hold:
		if machine.Annotations == nil {
			machine.Annotations = map[string]string{}
		}
		machine.Annotations[faultlinev1.QuorumHookAnnotation] = verdict.Why
	case Release:
		delete(machine.Annotations, faultlinev1.QuorumHookAnnotation)
	}
	if err := r.hooks.Write(ctx, r.Client, before, machine); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the quorum hook of Machine %s: %w", machine.Name, err))
	}
	r.emitEvents(machine, verdict)
	return nil
}

// emitEvents records an event for a machine that waits, and for one that was released.
func (r *Reconciler) emitEvents(machine *clusterv1.Machine, verdict Verdict) {
	switch {
	case verdict.Action == Hold && verdict.Why != "":
		r.Recorder.Eventf(machine, nil, corev1.EventTypeWarning, "WaitingForQuorum", "ProtectQuorum", "Deletion waits: %s", verdict.Why)
	case verdict.Action == Release:
		r.Recorder.Eventf(machine, nil, corev1.EventTypeNormal, "QuorumHookRemoved", "ProtectQuorum", "The quorum hook no longer blocks the Machine: %s", verdict.Why)
	}
}
