// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/api/addons/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// manifests holds what the user prepared for a ClusterResourceSet: a Secret of the ClusterResourceSet type, or a ConfigMap as upstream
// uses.
type manifests struct {
	client.Object

	kind, text string
	// write replaces the text.
	write func(string)
}

// manifests reads the user's manifests. It returns nil, and requeues, if they do not exist or the cluster may not change them.
func (s *scope) manifests(ctx context.Context, config infrav1.UpdateCloudProviderConfig) (*manifests, error) {
	if why := s.Consent.NoManifests(config.ManifestsConfigMapNamespace, s.cluster.Namespace); why != "" {
		s.reportNotAllowed("spec.updateCloudProviderConfig.manifestsConfigMapNamespace " + why)
		return nil, nil
	}
	key := client.ObjectKey{Namespace: config.ManifestsConfigMapNamespace, Name: config.ManifestsConfigMapName}
	found, err := s.findManifests(ctx, key, config.ManifestsConfigMapKey)
	if err != nil {
		return nil, err
	}
	switch {
	case found == nil:
		s.requeueAfter = recheckInterval
		status.False(s.cluster, configReady, infrav1.CloudProviderConfigNotReadyReason, fmt.Sprintf(
			"ConfigMap %s of spec.updateCloudProviderConfig does not exist or has no key %s: create it, or a Secret of that name and of type %s, "+
				"with the manifests of Harvester's cloud provider", key, config.ManifestsConfigMapKey, v1beta2.ClusterResourceSetSecretType))
		return nil, nil
	case owned.Allows(found, s.cluster.Namespace),
		key.Namespace == s.cluster.Namespace && UsesSecret(found.text, config.CloudConfigCredentialsSecretName):
		return found, nil
	}
	what := fmt.Sprintf("%s %s of spec.updateCloudProviderConfig ", found.kind, key)
	if key.Namespace == s.cluster.Namespace {
		s.reportNotAllowed(fmt.Sprintf("%sis not changed, because no manifest in its key %s is or uses the Secret kube-system/%s: add the Secret, or the annotation %s with %s",
			what, config.ManifestsConfigMapKey, config.CloudConfigCredentialsSecretName, faultlinev1.AllowedNamespacesAnnotation, s.cluster.Namespace))
	} else {
		s.reportNotAllowed(fmt.Sprintf("%sdoes not allow its use from namespace %s: add %[2]s to its annotation %[3]s", what, s.cluster.Namespace, faultlinev1.AllowedNamespacesAnnotation))
	}
	return nil, nil
}

func (s *scope) reportNotAllowed(why string) {
	s.requeueAfter = recheckInterval
	status.False(s.cluster, configReady, infrav1.CloudProviderConfigNotAllowedReason, why)
}

// findManifests prefers the Secret, because role view does not grant access to it.
func (s *scope) findManifests(ctx context.Context, at client.ObjectKey, key string) (*manifests, error) {
	secret, err := reconcile.Find(ctx, s.Live, at, &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	if secret != nil && secret.Type == v1beta2.ClusterResourceSetSecretType {
		if text, ok := secret.Data[key]; ok {
			return &manifests{secret, "Secret", string(text), func(text string) { secret.Data[key] = []byte(text) }}, nil
		}
	}
	configMap, err := reconcile.Find(ctx, s.Live, at, &corev1.ConfigMap{})
	if err != nil || configMap == nil {
		return nil, err
	}
	text, ok := configMap.Data[key]
	if !ok {
		return nil, nil
	}
	return &manifests{configMap, "ConfigMap", text, func(text string) { configMap.Data[key] = text }}, nil
}

// writeKubeconfig stores the kubeconfig in the manifests.
func (s *scope) writeKubeconfig(ctx context.Context, m *manifests, config infrav1.UpdateCloudProviderConfig, kubeconfig []byte) error {
	text, err := WithKubeconfig(m.text, config.CloudConfigCredentialsSecretName, config.CloudConfigCredentialsSecretKey, kubeconfig)
	if err == nil && text != m.text {
		before := m.DeepCopyObject().(client.Object)
		m.write(text)
		err = s.Client.Patch(ctx, m.Object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return fmt.Errorf("writing the kubeconfig of the cloud provider into %s %s: %w", m.kind, client.ObjectKeyFromObject(m), err)
	}
	return nil
}
