// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// findHost ensures that no claim is missed: a claim made just before the deletion, or before a restart, may not be in the cache.
func (r *Reconciler) findHost(ctx context.Context, s *scope) (reconcile.Progress, error) {
	r.Hosts.Inventory.Forget(s.key())
	if name := hosts.Named(s.infra); s.host == nil && name != "" {
		var err error
		if s.host, err = r.Hosts.Recover(ctx, s.key(), name); err != nil {
			return reconcile.Wait, err
		}
	}
	return reconcile.Proceed, nil
}

// deprovision waits until the host no longer runs anything of the machine.
func (r *Reconciler) deprovision(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.host == nil {
		return reconcile.Proceed, nil
	}
	markUnassociated(s, infrav1.Metal3MachineDeletingReason, "Deprovisioning BareMetalHost "+s.host.Name)
	changed, err := r.Hosts.Deprovision(ctx, s.host, s.machineSecrets())
	if client.IgnoreNotFound(err) != nil {
		if reconcile.IsRejected(err) || reconcile.IsTransient(err) {
			markUnassociated(s, infrav1.Metal3MachineDeletingReason, writeFailure(s.host.Name, err))
		}
		return reconcile.Wait, err
	}
	if stuck := notDeprovisioned(s.host); stuck != "" {
		markUnassociated(s, infrav1.Metal3MachineDeletingReason, fmt.Sprintf("BareMetalHost %s is not deprovisioned: %s", s.host.Name, stuck))
	}
	if changed || !hosts.Vacant(s.host) {
		return reconcile.Wait, nil
	}
	return reconcile.Proceed, nil
}

// machineSecrets returns the Secrets that the machine may have set on its host. After a move or a restore the status may still be
// empty, so it includes the names of rendered Secrets.
func (s *scope) machineSecrets() *hosts.MachineSecrets {
	spec, state := &s.infra.Spec, &s.infra.Status
	secrets := &hosts.MachineSecrets{
		UserData:    names(spec.UserData, state.UserData),
		MetaData:    append(names(spec.MetaData, state.MetaData), render.MetaDataSecret(s.infra.Name)),
		NetworkData: append(names(spec.NetworkData, state.NetworkData), render.NetworkDataSecret(s.infra.Name)),
	}
	if s.machine != nil && s.machine.Spec.Bootstrap.DataSecretName != nil {
		secrets.UserData = append(secrets.UserData, *s.machine.Spec.Bootstrap.DataSecretName)
	}
	return secrets
}

func names(refs ...*corev1.SecretReference) hosts.SecretNames {
	var found hosts.SecretNames
	for _, ref := range refs {
		if ref != nil && ref.Name != "" {
			found = append(found, ref.Name)
		}
	}
	return found
}

// notDeprovisioned returns why the operator does not deprovision the host and how to fix it, or "" if no reason is found.
func notDeprovisioned(host *bmov1alpha1.BareMetalHost) string {
	forced, key, deleting := hosts.DetachedByForce(host), hosts.DetachedBy(host), !host.DeletionTimestamp.IsZero()
	switch {
	case key == bmov1alpha1.PausedAnnotation, key != "" && !forced:
		return "the bare-metal operator ignores it: remove the annotation " + key
	case forced && deleting:
		return "it is detached by force and being deleted: the bare-metal operator reconciles it again within ten minutes, or when it changes"
	case forced:
		return "it is detached by force: delete the BareMetalHost to complete the deletion of the Machine, or remove the annotation " + key
	case hosts.WithoutPower(host):
		return fmt.Sprintf("%s: restore the power; or make sure that the machine stays off, set the annotation %s of the BareMetalHost to %s and, "+
			"when status.operationalStatus is detached, delete the BareMetalHost to complete the deletion of the Machine", powerFailure, bmov1alpha1.DetachedAnnotation, hosts.ForcedDetachment)
	case host.Status.ErrorMessage != "" && deleting:
		return host.Status.ErrorMessage + ": the BareMetalHost is being deleted, which completes when the bare-metal operator has failed four times"
	case host.Status.ErrorMessage != "":
		return host.Status.ErrorMessage + ": repair the host, or delete the BareMetalHost to complete the deletion of the Machine"
	case hosts.Delayed(host):
		return delayed
	}
	return ""
}

// releaseData releases the addresses only once the host is off, because they can be allocated to another machine at once.
func (r *Reconciler) releaseData(ctx context.Context, s *scope) (reconcile.Progress, error) {
	claim, err := r.dataClaim(ctx, s)
	if err != nil {
		return reconcile.Wait, err
	}
	if claim == nil || !metav1.IsControlledBy(claim, s.infra) {
		return reconcile.Proceed, nil
	}
	if claim.DeletionTimestamp.IsZero() {
		if err := r.Client.Delete(ctx, claim); client.IgnoreNotFound(err) != nil {
			return reconcile.Wait, fmt.Errorf("deleting Metal3DataClaim %s: %w", claim.Name, err)
		}
	}
	before := claim.DeepCopy()
	if controllerutil.RemoveFinalizer(claim, infrav1.MachineFinalizer) {
		// Does not carry a resourceVersion: the deletion has changed it, and other controllers may add or remove finalizers.
		if err := r.Client.Patch(ctx, claim, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return reconcile.Wait, fmt.Errorf("releasing Metal3DataClaim %s: %w", claim.Name, err)
		}
	}
	return reconcile.Proceed, nil
}

// releaseHost releases the host, keeps it for the next machine of the same owner if the template requires that, and removes the
// finalizer of the machine.
func (r *Reconciler) releaseHost(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.host != nil {
		reuse, err := r.nodeReuseLabel(ctx, s)
		if err != nil {
			return reconcile.Wait, err
		}
		if err := r.Hosts.Release(ctx, s.host, hosts.ReleaseOptions{Machine: s.infra.Name, Reuse: reuse, Failed: s.failed()}); client.IgnoreNotFound(err) != nil {
			return reconcile.Wait, err
		}
		r.event(s, "Released", "Delete", "Released BareMetalHost %s", s.host.Name)
	}
	controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizer)
	return reconcile.Proceed, nil
}

// failed reports whether the machine is deleted because it failed on its host: the host was in error or rejected its
// configuration, its Node never joined, or the Node was unhealthy.
func (s *scope) failed() bool {
	switch conditions.GetReason(s.infra, infrav1.Metal3MachineHostProvisionedCondition) {
	case infrav1.Metal3MachineHostErrorReason, infrav1.Metal3MachineHostRefusedReason, infrav1.Metal3MachineWaitingForNodeReason:
		return true
	}
	return s.machine != nil &&
		(conditions.IsFalse(s.machine, clusterv1.MachineHealthCheckSucceededCondition) || conditions.IsFalse(s.machine, clusterv1.MachineOwnerRemediatedCondition))
}
