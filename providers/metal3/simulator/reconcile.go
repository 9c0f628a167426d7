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

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/operator"
)

// afterConflict is the requeue delay after a conflict: the watch delivers the other write within milliseconds.
const afterConflict = 20 * time.Millisecond

// Reconcile advances a host until it has to wait. Each step is written before the next is determined, so that observers see every
// state. On a conflict it stops, and the next reconcile starts from the current state.
func (s *Simulator) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	host := &bmov1alpha1.BareMetalHost{}
	if err := s.client.Get(ctx, req.NamespacedName, host); err != nil {
		if apierrors.IsNotFound(err) {
			s.progress.Forget(req.NamespacedName)
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
		step := lifecycle.Next(v)
		if step.Idle() {
			return requeueAfter(step, until.Sub(v.Now.Time)), nil
		}
		err = s.execute(ctx, host, v, step)
		switch {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			return ctrl.Result{RequeueAfter: afterConflict}, nil
		case err != nil:
			return ctrl.Result{}, err
		case step.Release:
			return ctrl.Result{}, nil
		}
	}
}

// requeueAfter requeues the host at the end of the phase's delay, or waits for a change.
func requeueAfter(step lifecycle.Step, left time.Duration) ctrl.Result {
	if !step.Wait {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(left, time.Nanosecond)}
}

// view collects the input of the next step, and returns the end of the current phase.
func (s *Simulator) view(ctx context.Context, host *bmov1alpha1.BareMetalHost) (lifecycle.View, time.Time, error) {
	v := lifecycle.View{Host: host, Now: s.time(), Fault: s.faults.Of(host, host.Labels[DomainLabel])}
	found := s.progress.Observe(host, v.Fault.Dark, v.Now.Time)
	v.Machine, v.Started, v.Due = found.Machine, found.Started, !v.Now.Time.Before(found.Until)
	var err error
	if v.Secret, err = s.secretVersion(ctx, host); err != nil {
		return v, time.Time{}, err
	}
	if host.Status.HardwareDetails == nil {
		if v.Recorded, err = s.hardware.Of(ctx, host); err != nil {
			return v, time.Time{}, err
		}
	}
	if host.Status.Provisioning.State == bmov1alpha1.StateInspecting {
		v.Inventory = s.inventory(host)
	}
	return v, found.Until, nil
}

// secretVersion reads a Secret that is not in the cache from the API server: it may be as new as the host.
func (s *Simulator) secretVersion(ctx context.Context, host *bmov1alpha1.BareMetalHost) (string, error) {
	secret, err := s.secret(ctx, host)
	if err == nil && secret != nil && host.Status.Provisioning.State != bmov1alpha1.StateDeleting {
		err = operator.KeepSecret(ctx, s.client, secret)
	}
	if err != nil || secret == nil {
		return "", client.IgnoreNotFound(err)
	}
	return secret.ResourceVersion, nil
}

// secret returns the BMC Secret of the host, or nil.
func (s *Simulator) secret(ctx context.Context, host *bmov1alpha1.BareMetalHost) (*metav1.PartialObjectMetadata, error) {
	key := host.CredentialsKey()
	if key.Name == "" {
		return nil, nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := s.client.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		err = s.live.Get(ctx, key, secret)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return secret, nil
}

// execute executes a step and updates host from the API server's response.
func (s *Simulator) execute(ctx context.Context, host *bmov1alpha1.BareMetalHost, v lifecycle.View, step lifecycle.Step) error {
	if step.Machine != "" {
		if err := s.machines.Turn(ctx, host, v.Machine, step.Machine); err != nil {
			return s.reportHookError(ctx, host, v, err)
		}
		s.progress.SetMachine(client.ObjectKeyFromObject(host), step.Machine)
	}
	if step.Erase {
		if err := s.machines.Erase(ctx, host); err != nil {
			return s.reportHookError(ctx, host, v, err)
		}
	}
	if step.Publish {
		if err := s.hardware.Publish(ctx, host, step.Status.HardwareDetails); err != nil {
			return err
		}
	}
	if step.Retract {
		if err := s.hardware.Retract(ctx, host); err != nil {
			return err
		}
	}
	if err := s.write(ctx, host, step); err != nil {
		return err
	}
	s.report(host, step.Events)
	return nil
}

// releaseSecret releases the Secret of a host that is being deleted.
func (s *Simulator) releaseSecret(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	secret, err := s.secret(ctx, host)
	if err != nil || secret == nil {
		return err
	}
	return operator.ReleaseSecret(ctx, s.client, secret)
}

func (s *Simulator) report(host *bmov1alpha1.BareMetalHost, events []lifecycle.Event) {
	if s.quiet {
		return
	}
	for _, event := range events {
		s.recorder.Eventf(host, nil, event.Kind, event.Reason, "Simulate", "%s", event.Note)
	}
}

// reportHookError reports a failed hook once, and returns its error so that the hook is retried with backoff. As in the operator,
// a missing Secret is not reported.
func (s *Simulator) reportHookError(ctx context.Context, host *bmov1alpha1.BareMetalHost, v lifecycle.View, cause error) error {
	if host.Status.ErrorMessage == cause.Error() || apierrors.IsNotFound(cause) {
		return cause
	}
	failed := v.Fail(bmov1alpha1.PowerManagementError, cause.Error())
	return errors.Join(s.write(ctx, host, failed), cause)
}

// write sends the status, then the other fields. It sends the complete status, because the CRD requires fields that a patch of an
// empty status would omit.
func (s *Simulator) write(ctx context.Context, host *bmov1alpha1.BareMetalHost, step lifecycle.Step) error {
	if step.Status != nil {
		host.Status = *step.Status
		if err := s.client.Status().Update(ctx, host); err != nil {
			return fmt.Errorf("writing status of host %s: %w", host.Name, err)
		}
		s.written.Wrote(host)
	}
	if !step.Metadata() {
		return nil
	}
	if step.Release {
		if err := s.releaseSecret(ctx, host); err != nil {
			return err
		}
	}
	before := host.DeepCopy()
	if step.Finalize {
		controllerutil.AddFinalizer(host, bmov1alpha1.BareMetalHostFinalizer)
	}
	if step.Release {
		controllerutil.RemoveFinalizer(host, bmov1alpha1.BareMetalHostFinalizer)
	}
	if step.Architecture != "" {
		host.Spec.Architecture = step.Architecture
	}
	maps.DeleteFunc(host.Annotations, func(key, _ string) bool { return slices.Contains(step.Drop, key) })
	if err := s.client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing host %s: %w", host.Name, err)
	}
	s.written.Wrote(host)
	return nil
}
