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

// Reconciler sees to the hooks of the control-plane Machines of a provider's Clusters. It decides from caches; what is to be done it
// decides again from Live before it writes, with the versions that it has read there.
type Reconciler struct {
	Client   client.Client
	Live     client.Reader
	Provider provider.Provider
	Recorder events.EventRecorder

	filter watch.Filter
	// hooks writes them.
	hooks                    patch.Repeats
	clusterKind, machineKind schema.GroupKind
	// cached is what caches show.
	cached source
	// follow begins to watch control planes of a kind.
	follow func(ctx context.Context, namespace string, object *unstructured.Unstructured) error
}

// passes is more than there are from a Machine being deleted to its going when nobody interferes.
const passes = 5

// errUndone is why there is no end of writes.
var errUndone = errors.New("what was written is changed by others each time")

// Reconcile looks at the control plane of one Cluster.
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

// undone is what somebody does to hooks, and how long that is told at most.
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

// advance reads everything as it is now, decides, and writes, until there is nothing to be written.
func (r *Reconciler) advance(ctx context.Context, key client.ObjectKey) error {
	for range passes {
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
	return fmt.Errorf("seeing to the quorum hooks of Cluster %s: %w", key.Name, errUndone)
}

// writeAll goes on with the other machines when somebody undoes the hook of one.
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

// toWrite are the verdicts that change something, by the index of their machine.
func (o *observed) toWrite() map[int]Verdict {
	verdicts := map[int]Verdict{}
	for i, verdict := range Decide(o.Snapshot) {
		if verdict.Action != Leave && (verdict.Action != Hold || verdict.Why != o.Machines[i].Why) {
			verdicts[i] = verdict
		}
	}
	return verdicts
}

// write does what a verdict says. It carries the version that the Machine was read at: whoever was faster makes it fail.
func (r *Reconciler) write(ctx context.Context, machine *clusterv1.Machine, verdict Verdict) error {
	before := machine.DeepCopy()
	switch verdict.Action {
	case Protect, Hold:
		if machine.Annotations == nil {
			machine.Annotations = map[string]string{}
		}
		machine.Annotations[faultlinev1.QuorumHookAnnotation] = verdict.Why
	case LetGo:
		delete(machine.Annotations, faultlinev1.QuorumHookAnnotation)
	}
	if err := r.hooks.Write(ctx, r.Client, before, machine); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the quorum hook of Machine %s: %w", machine.Name, err))
	}
	r.tell(machine, verdict)
	return nil
}

// tell tells of a machine that waits, and of one that was let go.
func (r *Reconciler) tell(machine *clusterv1.Machine, verdict Verdict) {
	switch {
	case verdict.Action == Hold && verdict.Why != "":
		r.Recorder.Eventf(machine, nil, corev1.EventTypeWarning, "WaitingForQuorum", "ProtectQuorum", "The deletion waits: %s", verdict.Why)
	case verdict.Action == LetGo:
		r.Recorder.Eventf(machine, nil, corev1.EventTypeNormal, "QuorumHookRemoved", "ProtectQuorum", "The quorum holds the Machine no more: %s", verdict.Why)
	}
}
