// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// afterConflict is how long a host is left alone whose write met another's: the watch brings that within milliseconds.
const afterConflict = 20 * time.Millisecond

// Reconcile takes a host as far as it gets without waiting. Each step is written before the next is decided, so that
// observers see every state; a write that meets another's gives up, and the next reconcile starts from what is there.
func (s *Simulator) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	host := &bmov1alpha1.BareMetalHost{}
	if err := s.client.Get(ctx, req.NamespacedName, host); err != nil {
		if apierrors.IsNotFound(err) {
			s.progress.forget(req.NamespacedName)
			s.written.Forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait := s.written.Wait(host); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	for {
		v, until, err := s.view(ctx, host)
		if err != nil {
			return ctrl.Result{}, err
		}
		decided := next(v)
		if decided.idle() {
			return pause(decided, until.Sub(v.now.Time)), nil
		}
		err = s.do(ctx, host, v, decided)
		switch {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			return ctrl.Result{RequeueAfter: afterConflict}, nil
		case err != nil:
			return ctrl.Result{}, err
		case decided.release:
			return ctrl.Result{}, nil
		}
	}
}

// pause waits for the end of the phase's delay, or for a change.
func pause(decided step, left time.Duration) ctrl.Result {
	if !decided.wait {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(left, time.Nanosecond)}
}

// idle says that a step has nothing to do.
func (s step) idle() bool {
	return s.machine == "" && s.status == nil && !s.retract && !s.metadata()
}

// metadata says that a step changes the host's metadata.
func (s step) metadata() bool { return s.finalize || s.release || len(s.drop) > 0 }

// view collects what the next step depends on, and until when the current phase takes.
func (s *Simulator) view(ctx context.Context, host *bmov1alpha1.BareMetalHost) (view, time.Time, error) {
	v := view{host: host, now: s.time(), fault: s.faults.of(host)}
	found := s.progress.look(host, v.now.Time)
	v.machine, v.started, v.due = found.machine, found.started, !v.now.Time.Before(found.until)
	var err error
	if v.secret, err = s.secretVersion(ctx, host); err != nil {
		return v, time.Time{}, err
	}
	if host.Status.HardwareDetails == nil {
		if v.recorded, err = s.recorded(ctx, host); err != nil {
			return v, time.Time{}, err
		}
	}
	if host.Status.Provisioning.State == bmov1alpha1.StateInspecting {
		v.inventory = s.inventory(host)
	}
	return v, found.until, nil
}

// secretVersion asks the API server about a Secret that the cache does not know: it may be as new as the host.
func (s *Simulator) secretVersion(ctx context.Context, host *bmov1alpha1.BareMetalHost) (string, error) {
	key := host.CredentialsKey()
	if key.Name == "" {
		return "", nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := s.client.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		err = s.live.Get(ctx, key, secret)
	}
	if err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return secret.ResourceVersion, nil
}

// do carries out a step. The host is then as the API server has it.
func (s *Simulator) do(ctx context.Context, host *bmov1alpha1.BareMetalHost, v view, decided step) error {
	if decided.machine != "" {
		if err := s.turn(ctx, host, v.machine, decided.machine); err != nil {
			return s.refuse(ctx, host, v, err)
		}
		s.progress.setMachine(client.ObjectKeyFromObject(host), decided.machine)
	}
	if decided.erase {
		if err := s.erase(ctx, host); err != nil {
			return s.refuse(ctx, host, v, err)
		}
	}
	if decided.publish {
		if err := s.publish(ctx, host, decided.status.HardwareDetails); err != nil {
			return err
		}
	}
	if decided.retract {
		if err := s.retract(ctx, host); err != nil {
			return err
		}
	}
	if err := s.write(ctx, host, decided); err != nil {
		return err
	}
	s.report(host, decided.events)
	return nil
}

func (s *Simulator) report(host *bmov1alpha1.BareMetalHost, events []happening) {
	if s.quiet {
		return
	}
	for _, happened := range events {
		s.recorder.Eventf(host, nil, happened.kind, happened.reason, "Simulate", "%s", happened.note)
	}
}

// refuse tells of a hook that failed, once, and answers its error so that it is called again with growing distance.
func (s *Simulator) refuse(ctx context.Context, host *bmov1alpha1.BareMetalHost, v view, cause error) error {
	if host.Status.ErrorMessage == cause.Error() {
		return cause
	}
	failed := v.fail(bmov1alpha1.PowerManagementError, cause.Error())
	return errors.Join(s.write(ctx, host, failed), cause)
}

// write sends the status, then the metadata. The status goes whole: the CRD requires fields that a patch of an empty
// status would leave out.
func (s *Simulator) write(ctx context.Context, host *bmov1alpha1.BareMetalHost, decided step) error {
	if decided.status != nil {
		host.Status = *decided.status
		if err := s.client.Status().Update(ctx, host); err != nil {
			return fmt.Errorf("writing status of host %s: %w", host.Name, err)
		}
		s.written.Wrote(host)
	}
	if !decided.metadata() {
		return nil
	}
	before := host.DeepCopy()
	if decided.finalize {
		controllerutil.AddFinalizer(host, bmov1alpha1.BareMetalHostFinalizer)
	}
	if decided.release {
		controllerutil.RemoveFinalizer(host, bmov1alpha1.BareMetalHostFinalizer)
	}
	maps.DeleteFunc(host.Annotations, func(key, _ string) bool { return slices.Contains(decided.drop, key) })
	if err := s.client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing metadata of host %s: %w", host.Name, err)
	}
	s.written.Wrote(host)
	return nil
}
