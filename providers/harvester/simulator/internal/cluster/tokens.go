// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// tokenSeconds is longer than any simulator runs.
const tokenSeconds = 30 * 24 * 3600

// tokens simulates the Kubernetes controller that creates ServiceAccount tokens.
type tokens struct {
	client client.Client
	// authority is the CA that verifies the certificate of the API server's proxy.
	authority []byte
}

// Reconcile adds the token to a Secret whose ServiceAccount exists.
func (r *tokens) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, req.NamespacedName, secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if secret.Type != corev1.SecretTypeServiceAccountToken || len(secret.Data[corev1.ServiceAccountTokenKey]) > 0 {
		return ctrl.Result{}, nil
	}
	account := &corev1.ServiceAccount{}
	key := client.ObjectKey{Namespace: secret.Namespace, Name: secret.Annotations[corev1.ServiceAccountNameKey]}
	if err := r.client.Get(ctx, key, account); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)}}
	if err := r.client.SubResource("token").Create(ctx, account, request); apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("requesting a token: %w", err)
	}
	before := secret.DeepCopy()
	secret.Data = map[string][]byte{
		corev1.ServiceAccountTokenKey: []byte(request.Status.Token), corev1.ServiceAccountNamespaceKey: []byte(secret.Namespace),
		corev1.ServiceAccountRootCAKey: r.authority,
	}
	if err := r.client.Patch(ctx, secret, client.MergeFrom(before)); controllers.IgnoreStale(err) != nil {
		return ctrl.Result{}, fmt.Errorf("writing token: %w", err)
	}
	return ctrl.Result{}, nil
}
