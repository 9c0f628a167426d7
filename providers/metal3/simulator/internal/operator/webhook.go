// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// webhookName is the name of the operator's webhook.
const webhookName = "baremetalhost.metal3.io"

// LoseWebhook registers the operator's webhook for the hosts of a namespace with an endpoint that does not respond, as when the
// operator is stopped: the API server rejects creates and updates of hosts, but not updates of their status or their deletion. It
// returns once that is in effect.
func LoseWebhook(ctx context.Context, c client.Client, namespace string) error {
	if err := c.Create(ctx, lostWebhook(namespace)); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("registering the webhook of namespace %s: %w", namespace, err)
	}
	return awaitWebhook(ctx, c, namespace, true)
}

// RestoreWebhook reverts LoseWebhook.
func RestoreWebhook(ctx context.Context, c client.Client, namespace string) error {
	if err := c.Delete(ctx, lostWebhook(namespace)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the webhook of namespace %s: %w", namespace, err)
	}
	return awaitWebhook(ctx, c, namespace, false)
}

func lostWebhook(namespace string) *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookName + "." + namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: webhookName, AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
			FailurePolicy: ptr.To(admissionv1.Fail), TimeoutSeconds: ptr.To[int32](1),
			// No server listens on this port.
			ClientConfig:      admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/validate-metal3-io-v1alpha1-baremetalhost")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules:             []admissionv1.RuleWithOperations{writes()},
		}},
	}
}

// awaitWebhook waits until the API server has loaded or unloaded the webhook.
func awaitWebhook(ctx context.Context, c client.Client, namespace string, lost bool) error {
	err := wait.PollUntilContextTimeout(ctx, refusalCheck, refusalTimeout, true, func(ctx context.Context) (bool, error) {
		probe := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "simulator-probe"}}
		err := c.Create(ctx, probe, client.DryRunAll)
		refused := apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
		if err != nil && !refused {
			return false, err
		}
		return refused == lost, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the API server to apply the webhook of namespace %s: %w", namespace, err)
	}
	return nil
}
