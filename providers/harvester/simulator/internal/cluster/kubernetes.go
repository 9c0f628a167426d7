// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// accountField indexes Secrets by their ServiceAccount.
const accountField = "metadata.annotations." + corev1.ServiceAccountNameKey

// AddKubernetes adds the controllers. Tokens include the CA that verifies the API server's certificate. With graceful, kubelets
// give guests time to shut down, because components other than the simulator delete their Pods.
func AddKubernetes(ctx context.Context, set *controllers.Set, authority []byte, graceful bool) error {
	err := set.IndexField(ctx, &corev1.Secret{}, accountField, func(obj client.Object) []string {
		return []string{obj.GetAnnotations()[corev1.ServiceAccountNameKey]}
	})
	if err != nil {
		return err
	}
	c := set.Client()
	return errors.Join(
		set.Controller("pod").For(&corev1.Pod{}).
			Watches(&corev1.Node{}, set.EnqueueByField(&corev1.PodList{}, PodField)).
			Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(podsOf(c))).
			Complete(&kubelets{client: c, graceful: graceful}),
		set.Controller("token").For(&corev1.Secret{}).
			Watches(&corev1.ServiceAccount{}, set.EnqueueByField(&corev1.SecretList{}, accountField)).
			Complete(&tokens{client: c, authority: authority}),
		addGarbageCollectors(ctx, set),
	)
}
