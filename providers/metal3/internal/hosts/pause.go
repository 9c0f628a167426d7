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

// Pause stops the operator of the host of a paused cluster, and makes the host ready to be moved to another management
// cluster: its status goes into an annotation, from which the operator there restores it, the Secret of its BMC gets the
// cluster's name, and the move is not held up any more. A pause of somebody else's stays theirs, here and there.
func (h *Hosts) Pause(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	if movable(host) {
		return nil
	}
	// What the cache keeps of the status is not all of it.
	whole := &bmov1alpha1.BareMetalHost{}
	if err := h.Live.Get(ctx, client.ObjectKeyFromObject(host), whole); err != nil {
		return fmt.Errorf("reading BareMetalHost %s: %w", host.Name, err)
	}
	if err := h.labelSecret(ctx, whole, whole.Labels[clusterv1.ClusterNameLabel]); err != nil {
		return err
	}
	before := whole.DeepCopy()
	saved := whole.Status.DeepCopy()
	saved.HardwareDetails = nil // it has an object of its own
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

// movable reports whether the host is as Pause leaves it. Its status does not change while it is paused.
func movable(host *bmov1alpha1.BareMetalHost) bool {
	return annotated(host, bmov1alpha1.PausedAnnotation) && annotated(host, bmov1alpha1.StatusAnnotation) &&
		!annotated(host, clusterctlv1.BlockMoveAnnotation)
}

// Unheld reports whether clusterctl would move a host that is not ready for it: somebody has removed the annotation that holds up the move.
func Unheld(host *bmov1alpha1.BareMetalHost) bool {
	return host.Spec.ConsumerRef != nil && !annotated(host, clusterctlv1.BlockMoveAnnotation) && !movable(host)
}

// PausedByOthers reports whether somebody else has paused the host.
func PausedByOthers(host *bmov1alpha1.BareMetalHost) bool {
	return annotated(host, bmov1alpha1.PausedAnnotation) && !pausedByUs(host)
}

// Resume takes back what Pause did; the next move has to wait for the next pause. The annotation with the status is the
// operator's to remove once it has been restored, except where the host was never moved and has its status still.
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
	return h.mark(ctx, host, before)
}

// labelSecret puts the cluster's name on the Secret of the host's BMC, or takes it off. The Secret is not read, and may be
// gone.
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
