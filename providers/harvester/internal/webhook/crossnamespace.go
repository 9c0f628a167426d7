// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/rules"
)

// validateCrossNamespace rejects references to other namespaces that a cluster may not use. On update only changed references are
// checked; before is nil on create.
func (w harvesterCluster) validateCrossNamespace(ctx context.Context, before, after *infrav1.HarvesterCluster) (admission.Warnings, field.ErrorList, error) {
	was := infrav1.HarvesterClusterSpec{}
	if before != nil {
		was = before.Spec
	}
	var errs field.ErrorList
	if config := after.Spec.UpdateCloudProviderConfig; config != was.UpdateCloudProviderConfig && config != (infrav1.UpdateCloudProviderConfig{}) {
		if why := w.Consent.NoManifests(config.ManifestsConfigMapNamespace, after.Namespace); why != "" {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "updateCloudProviderConfig", "manifestsConfigMapNamespace"), why))
		}
	}
	identity := after.Spec.IdentitySecret
	if identity == was.IdentitySecret || identity.Namespace == after.Namespace || identity.Namespace == "" || identity.Name == "" {
		return nil, errs, nil
	}
	secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: identity.Namespace, Name: identity.Name}}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := w.Reader.Get(ctx, client.ObjectKeyFromObject(secret), secret); client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("reading Secret %s/%s: %w", identity.Namespace, identity.Name, err)
	}
	// A missing Secret counts as not allowing the use, so that the response does not reveal which Secrets exist.
	secret.Namespace, secret.Name = identity.Namespace, identity.Name
	path := field.NewPath("spec", "identitySecret", "namespace")
	switch {
	case owned.MayUseIdentity(secret, after.Namespace):
		return nil, errs, nil
	case w.Consent.IdentityNamespaces == owned.Warn:
		return admission.Warnings{rules.Warning(path, "%s; a later release will reject it", owned.IdentityRefusal(secret, after.Namespace))}, errs, nil
	default:
		return nil, append(errs, field.Forbidden(path, owned.IdentityRefusal(secret, after.Namespace))), nil
	}
}
