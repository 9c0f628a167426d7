// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// useGivenSecrets records the Secrets that need no rendering: the Machine's bootstrap data, and Secrets provided by the user.
func (s *scope) useGivenSecrets() {
	spec, state := &s.infra.Spec, &s.infra.Status
	if state.UserData == nil {
		state.UserData = spec.UserData
		if name := s.machine.Spec.Bootstrap.DataSecretName; name != nil {
			state.UserData = &corev1.SecretReference{Name: *name, Namespace: s.infra.Namespace}
		}
	}
	if spec.MetaData != nil {
		state.MetaData = spec.MetaData
	}
	if spec.NetworkData != nil {
		state.NetworkData = spec.NetworkData
	}
}

// claimData creates the claim for the machine's Metal3Data. The template depends on the failure domain of the host.
func (r *Reconciler) claimData(ctx context.Context, s *scope) (reconcile.Progress, error) {
	s.useGivenSecrets()
	if conditions.IsTrue(s.infra, infrav1.Metal3MachineDataReadyCondition) {
		return reconcile.Proceed, nil
	}
	template := s.dataTemplate(s.infra.Status.FailureDomain)
	if template == nil {
		status.True(s.infra, infrav1.Metal3MachineAssociateMetaDataCondition, infrav1.Metal3MachineAssociateMetaDataSuccessReason)
		status.True(s.infra, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineSecretsSetExternallyReason)
		return reconcile.Proceed, nil
	}
	claim, err := r.dataClaim(ctx, s)
	if err != nil {
		return reconcile.Wait, err
	}
	if claim == nil {
		switch err := r.createDataClaim(ctx, s, template.Name); {
		case reconcile.IsRejected(err):
			status.False(s.infra, infrav1.Metal3MachineAssociateMetaDataCondition, infrav1.Metal3MachineAssociateMetaDataFailedReason,
				reconcile.RejectedMessage("Metal3DataClaim", s.infra.Name, err))
			return reconcile.Retry(reconcile.RefusedPause), nil
		case err != nil:
			status.False(s.infra, infrav1.Metal3MachineAssociateMetaDataCondition, infrav1.Metal3MachineAssociateMetaDataFailedReason, err.Error())
			return reconcile.Wait, err
		}
	} else if !metav1.IsControlledBy(claim, s.infra) {
		status.False(s.infra, infrav1.Metal3MachineAssociateMetaDataCondition, infrav1.Metal3MachineAssociateMetaDataFailedReason, fmt.Sprintf(
			"Metal3DataClaim %s belongs to another Metal3Machine: waiting for its deletion", claim.Name))
		return reconcile.Wait, nil
	}
	status.True(s.infra, infrav1.Metal3MachineAssociateMetaDataCondition, infrav1.Metal3MachineAssociateMetaDataSuccessReason)
	return reconcile.Proceed, nil
}

// dataClaim returns the claim with the machine's name, or nil.
func (r *Reconciler) dataClaim(ctx context.Context, s *scope) (*infrav1.Metal3DataClaim, error) {
	claim := &infrav1.Metal3DataClaim{}
	if err := r.Client.Get(ctx, s.key(), claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading Metal3DataClaim %s: %w", s.infra.Name, err)
	}
	return claim, nil
}

// createDataClaim creates the claim with the finalizers of both controllers that need it, which saves the request to add the
// second.
func (r *Reconciler) createDataClaim(ctx context.Context, s *scope, template string) error {
	claim := &infrav1.Metal3DataClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.infra.Namespace, Name: s.infra.Name,
			Labels:     map[string]string{clusterv1.ClusterNameLabel: s.cluster.Name},
			Finalizers: []string{infrav1.MachineFinalizer, infrav1.DataClaimFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: s.infra.Name, UID: s.infra.UID, Controller: ptr.To(true),
			}},
		},
		Spec: infrav1.Metal3DataClaimSpec{Template: corev1.ObjectReference{Name: template, Namespace: s.infra.Namespace}},
	}
	if value, ok := s.infra.Labels[clusterv1.WatchLabel]; ok {
		claim.Labels[clusterv1.WatchLabel] = value
	}
	// AlreadyExists means an older claim of that name that is not in the cache yet. Its event enqueues the machine.
	if err := r.Client.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Metal3DataClaim %s: %w", claim.Name, err)
	}
	return nil
}

// waitForRenderedData waits for the Secrets with metadata and network data.
func (r *Reconciler) waitForRenderedData(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if conditions.IsTrue(s.infra, infrav1.Metal3MachineDataReadyCondition) {
		return reconcile.Proceed, nil
	}
	claim, err := r.dataClaim(ctx, s)
	if err != nil {
		return reconcile.Wait, err
	}
	if claim == nil || claim.Status.RenderedData == nil {
		reportDataError(s, claim, nil)
		return reconcile.Wait, nil
	}
	s.infra.Status.RenderedData = &infrav1.Metal3ObjectRef{Name: claim.Status.RenderedData.Name, Namespace: s.infra.Namespace}
	data := &infrav1.Metal3Data{}
	key := client.ObjectKey{Namespace: s.infra.Namespace, Name: claim.Status.RenderedData.Name}
	if err := r.Client.Get(ctx, key, data); client.IgnoreNotFound(err) != nil {
		return reconcile.Wait, fmt.Errorf("reading Metal3Data %s: %w", key, err)
	}
	if !data.Status.Ready {
		reportDataError(s, claim, data)
		return reconcile.Wait, nil
	}
	if s.infra.Status.MetaData == nil {
		s.infra.Status.MetaData = data.Spec.MetaData
	}
	if s.infra.Status.NetworkData == nil {
		s.infra.Status.NetworkData = data.Spec.NetworkData
	}
	status.True(s.infra, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineDataSecretsReadyReason)
	return reconcile.Proceed, nil
}

// reportDataError reports the error of the claim or the data. Both may be nil.
func reportDataError(s *scope, claim *infrav1.Metal3DataClaim, data *infrav1.Metal3Data) {
	reason, message := infrav1.Metal3MachineWaitingForMetal3DataReason, "Waiting for Metal3DataClaim "+s.infra.Name+" to get its Metal3Data"
	if data != nil {
		message = "Waiting for Metal3Data " + s.infra.Status.RenderedData.Name + " to be rendered"
	}
	var problem *string
	if claim != nil {
		problem = claim.Status.ErrorMessage
	}
	if data != nil && data.Status.ErrorMessage != nil {
		problem = data.Status.ErrorMessage
	}
	if text := ptr.Deref(problem, ""); text != "" {
		reason, message = infrav1.Metal3MachineDataFailedReason, text
	}
	if data != nil && conditions.IsFalse(data, infrav1.Metal3DataReadyCondition) {
		reason = conditions.GetReason(data, infrav1.Metal3DataReadyCondition)
	}
	status.False(s.infra, infrav1.Metal3MachineDataReadyCondition, reason, message)
}
