// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"encoding/json"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// Pause stops the operator from working on the host of a paused cluster, and prepares the host for clusterctl move: it saves the
// status to an annotation, from which the operator of the target cluster restores it, labels the BMC Secret with the cluster
// name, and removes the annotation that blocks the move. A pause set by another actor is kept in both clusters.
func (h *Hosts) Pause(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	if movable(host) {
		return nil
	}
	// The cache holds only part of the status.
	whole := &bmov1alpha1.BareMetalHost{}
	if err := h.Live.Get(ctx, client.ObjectKeyFromObject(host), whole); err != nil {
		return fmt.Errorf("reading BareMetalHost %s: %w", host.Name, err)
	}
	if err := h.labelSecret(ctx, whole, whole.Labels[clusterv1.ClusterNameLabel]); err != nil {
		return err
	}
	before := whole.DeepCopy()
	saved := whole.Status.DeepCopy()
	saved.HardwareDetails = nil // stored in a HardwareData object
	text, err := json.Marshal(saved)
	if err != nil {
		return fmt.Errorf("saving status of BareMetalHost %s: %w", host.Name, err)
	}
	if !annotated(whole, bmov1alpha1.PausedAnnotation) {
		metav1.SetMetaDataAnnotation(&whole.ObjectMeta, bmov1alpha1.PausedAnnotation, infrav1.HostPausedByProvider)
	}
	metav1.SetMetaDataAnnotation(&whole.ObjectMeta, bmov1alpha1.StatusAnnotation, string(text))
	delete(whole.Annotations, clusterctlv1.BlockMoveAnnotation)
	return h.patch(ctx, whole, before)
}

// movable reports whether Pause has prepared the host. The status of a paused host does not change.
func movable(host *bmov1alpha1.BareMetalHost) bool {
	return annotated(host, bmov1alpha1.PausedAnnotation) && annotated(host, bmov1alpha1.StatusAnnotation) &&
		!annotated(host, clusterctlv1.BlockMoveAnnotation)
}

// MoveUnblocked reports whether clusterctl would move a host that is not prepared for it, because the annotation that blocks the
// move has been removed.
func MoveUnblocked(host *bmov1alpha1.BareMetalHost) bool {
	return host.Spec.ConsumerRef != nil && !annotated(host, clusterctlv1.BlockMoveAnnotation) && !movable(host)
}

// PausedByOthers reports whether another actor has paused the host.
func PausedByOthers(host *bmov1alpha1.BareMetalHost) bool {
	return annotated(host, bmov1alpha1.PausedAnnotation) && !pausedByUs(host)
}

// Resume reverts Pause and blocks moves until the next pause. The operator removes the annotation with the status after restoring
// it; Resume removes it only if the host was never moved and still has its status.
func (h *Hosts) Resume(ctx context.Context, host *bmov1alpha1.BareMetalHost, cluster string) error {
	if !pausedByUs(host) && !movable(host) || host.Labels[clusterv1.ClusterNameLabel] != cluster {
		return nil
	}
	if err := h.labelSecret(ctx, host, ""); err != nil {
		return err
	}
	before := host.DeepCopy()
	if pausedByUs(host) {
		delete(host.Annotations, bmov1alpha1.PausedAnnotation)
	}
	if host.Status.Provisioning.State != bmov1alpha1.StateNone {
		delete(host.Annotations, bmov1alpha1.StatusAnnotation)
	}
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, clusterctlv1.BlockMoveAnnotation, "true")
	return h.patch(ctx, host, before)
}

// labelSecret sets the cluster name label on the Secret of the host's BMC, or removes it if cluster is "". It does not read the
// Secret and ignores a missing one.
func (h *Hosts) labelSecret(ctx context.Context, host *bmov1alpha1.BareMetalHost, cluster string) error {
	if host.Spec.BMC.CredentialsName == "" {
		return nil
	}
	var value any
	if cluster != "" {
		value = cluster
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{clusterv1.ClusterNameLabel: value}}})
	if err != nil {
		return fmt.Errorf("labelling BMC Secret %s: %w", host.Spec.BMC.CredentialsName, err)
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	secret.Namespace, secret.Name = host.Namespace, host.Spec.BMC.CredentialsName
	if err := h.Client.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("labelling BMC Secret %s: %w", secret.Name, err)
	}
	return nil
}
