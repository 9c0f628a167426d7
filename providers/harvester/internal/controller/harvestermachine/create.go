// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// ignition is the format of bootstrap data for Ignition rather than cloud-init.
const ignition = "ignition"

// create creates the Secret with the boot data, then the virtual machine.
func (r *Reconciler) create(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.vm != nil {
		return reconcile.Proceed, nil
	}
	if p, err := r.readBootstrap(ctx, s); p != reconcile.Proceed || err != nil {
		return p, err
	}
	s.wanted.Machine, s.wanted.ID = s.infra, s.infra.Annotations[infrav1.MachineIDAnnotation]
	s.wanted.Cluster, s.wanted.Namespace = s.cluster.Name, s.infraCluster.Spec.TargetNamespace
	vm, secret, err := virtualmachine.Build(s.wanted)
	if err != nil {
		return r.holdIfRefused(s, refuse(infrav1.MachineSpecInvalidReason, "%s; correct it in the template, and delete the Machine", err))
	}
	switch theirs, p, err := r.createSecret(ctx, s, secret); {
	case theirs != nil:
		return r.handleNameConflict(ctx, s, theirs, r.create)
	case p != reconcile.Proceed || err != nil:
		return p, err
	}
	switch err := s.conn.Create(ctx, vm); {
	case apierrors.IsAlreadyExists(err): // the cache did not have it yet
		return r.adopt(ctx, s)
	case isRejection(err):
		return r.reportRejected(s, "VirtualMachine", vm.Name, err)
	case err != nil:
		return reconcile.Wait, fmt.Errorf("creating VirtualMachine %s: %w", s.vmKey(), err)
	}
	s.vm = vm
	r.recordCreated(s)
	return reconcile.Proceed, nil
}

// recordCreated records events for the creation and for each deviation from the request.
func (r *Reconciler) recordCreated(s *scope) {
	r.event(s, "Created", "Create", "Created VirtualMachine %s", s.vmKey())
	if s.note != "" {
		r.warn(s, "Softened", "Create", "%s", s.note)
	}
	if s.wanted.KeyPair != "" && !s.wanted.Bootstrap.AcceptsKeys() {
		r.warn(s, "KeyPairUnused", "Create", "spec.sshKeyPair and spec.sshUser have no effect, because the bootstrap data is for Ignition, compressed, "+
			"already multi-part or not for cloud-init: put the key into the bootstrap configuration")
	}
}

func (r *Reconciler) adopt(ctx context.Context, s *scope) (reconcile.Progress, error) {
	vm, err := reconcile.Find(ctx, s.conn.Live(), s.vmKey(), &kubevirtv1.VirtualMachine{})
	switch {
	case err != nil:
		return reconcile.Wait, err
	case vm == nil:
		return reconcile.Wait, fmt.Errorf("adopting VirtualMachine %s: it was deleted in the meantime", s.vmKey())
	case !virtualmachine.BelongsTo(vm, s.infra):
		return r.handleNameConflict(ctx, s, vm, r.create)
	}
	s.vm = vm
	return reconcile.Proceed, nil
}

func (r *Reconciler) readBootstrap(ctx context.Context, s *scope) (reconcile.Progress, error) {
	name := s.machine.Spec.Bootstrap.DataSecretName
	if name == nil {
		notCreated(s, infrav1.WaitingForBootstrapDataReason, "Waiting for the Machine to have bootstrap data")
		return reconcile.Wait, nil
	}
	key := client.ObjectKey{Namespace: s.machine.Namespace, Name: *name}
	secret, err := reconcile.Find(ctx, r.Live, key, &corev1.Secret{})
	if err != nil {
		return reconcile.Wait, err
	}
	if secret == nil || len(secret.Data["value"]) == 0 {
		r.hold(s, distribution.Refusal{Reason: infrav1.WaitingForBootstrapDataReason, Message: fmt.Sprintf(
			"Secret %s of the Machine's bootstrap data, or its key value, does not exist: delete the Machine", key)})
		return reconcile.Retry(reconcile.RefusedPause), nil
	}
	s.wanted.Bootstrap = virtualmachine.Bootstrap{Data: secret.Data["value"], Ignition: string(secret.Data["format"]) == ignition}
	return reconcile.Proceed, nil
}

// createSecret creates the Secret that the virtual machine reads at boot. It updates a Secret from an earlier attempt, which no virtual
// machine has read. It returns a Secret of that name that does not belong to the machine.
func (r *Reconciler) createSecret(ctx context.Context, s *scope, secret *corev1.Secret) (theirs *corev1.Secret, _ reconcile.Progress, _ error) {
	wanted := secret.DeepCopy()
	err := s.conn.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		key := client.ObjectKeyFromObject(wanted)
		if secret, err = reconcile.Find(ctx, s.conn.Live(), key, &corev1.Secret{}); err != nil || secret == nil {
			return nil, reconcile.Retry(reconcile.RefusedPause), err
		}
		if !virtualmachine.Marked(secret, s.infra) {
			return secret, reconcile.Wait, nil
		}
		if equality.Semantic.DeepEqual(secret.Data, wanted.Data) {
			return nil, reconcile.Proceed, nil
		}
		secret.Data = wanted.Data
		err = s.conn.Update(ctx, secret)
	}
	if isRejection(err) {
		p, err := r.reportRejected(s, "Secret", wanted.Name, err)
		return nil, p, err
	}
	if err != nil {
		return nil, reconcile.Wait, fmt.Errorf("creating Secret %s/%s on Harvester: %w", wanted.Namespace, wanted.Name, err)
	}
	return nil, reconcile.Proceed, nil
}

// isRejection reports whether Harvester rejects the object, as opposed to the account.
func isRejection(err error) bool {
	return reconcile.IsRejected(err) && harvester.Denied(err) == nil && !apierrors.IsUnauthorized(err)
}

// reportRejected reports in a condition that Harvester rejected the object. The request is retried, because no event reports that
// Harvester accepts it.
func (r *Reconciler) reportRejected(s *scope, kind, name string, err error) (reconcile.Progress, error) {
	r.hold(s, distribution.Refusal{Reason: infrav1.VirtualMachineRefusedReason, Message: "Harvester: " + reconcile.RejectedMessage(kind, name, err)})
	return reconcile.Retry(reconcile.RefusedPause), nil
}
