// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// Keys in the Secrets, as expected by the bare-metal operator.
const (
	metaDataKey    = "metaData"
	networkDataKey = "networkData"
)

// nameSecrets sets the names of the Secrets in the spec unless they are set.
func nameSecrets(s *scope) {
	spec := &s.data.Spec
	if s.template.Spec.MetaData != nil && ptr.Deref(spec.MetaData, corev1.SecretReference{}).Name == "" {
		spec.MetaData = &corev1.SecretReference{Namespace: s.data.Namespace, Name: render.MetaDataSecret(s.metal3Machine.Name)}
	}
	if s.template.Spec.NetworkData != nil && ptr.Deref(spec.NetworkData, corev1.SecretReference{}).Name == "" {
		spec.NetworkData = &corev1.SecretReference{Namespace: s.data.Namespace, Name: render.NetworkDataSecret(s.metal3Machine.Name)}
	}
}

// secretNames returns the names of the Secrets in the spec of the data.
func secretNames(data *infrav1.Metal3Data) []string {
	var names []string
	for _, ref := range []*corev1.SecretReference{data.Spec.MetaData, data.Spec.NetworkData} {
		if ref != nil && ref.Name != "" {
			names = append(names, ref.Name)
		}
	}
	return names
}

// secretsExist reports whether all Secrets of the data exist. They are never rendered again, so that a host can be reprovisioned
// to the same state, and a moved cluster keeps its data.
func (r *Reconciler) secretsExist(ctx context.Context, data *infrav1.Metal3Data) (bool, error) {
	names := secretNames(data)
	if len(names) == 0 {
		return data.Status.Ready, nil // the template renders nothing, or has not been read yet
	}
	for _, name := range names {
		secret, err := r.secret(ctx, data.Namespace, name)
		if err != nil || secret == nil || foreign(secret, data) {
			return false, err
		}
	}
	return true, nil
}

// secret returns the metadata of a Secret, or nil if it does not exist.
func (r *Reconciler) secret(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := r.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return secret, nil
}

// foreign reports whether the object belongs to other data, for example former data of the same name.
func foreign(o metav1.Object, data *infrav1.Metal3Data) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && owner.UID != data.UID
}

// renderSecrets renders the Secrets that the template defines.
func renderSecrets(s *scope, in *render.Input) ([]*corev1.Secret, error) {
	var secrets []*corev1.Secret
	if spec := s.template.Spec.MetaData; spec != nil {
		content, err := render.MetaData(spec, in)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, newSecret(s.data, s.data.Spec.MetaData.Name, metaDataKey, content))
	}
	if spec := s.template.Spec.NetworkData; spec != nil {
		content, err := render.NetworkData(spec, in)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, newSecret(s.data, s.data.Spec.NetworkData.Name, networkDataKey, content))
	}
	return secrets, nil
}

func newSecret(data *infrav1.Metal3Data, name, key string, content []byte) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: data.Namespace, Name: name, OwnerReferences: ownedBy(data)},
		Type:       infrav1.DataSecretType,
		Data:       map[string][]byte{key: content},
	}
	if cluster, ok := data.Labels[clusterv1.ClusterNameLabel]; ok {
		secret.Labels = map[string]string{clusterv1.ClusterNameLabel: cluster}
	}
	return secret
}

// ownedBy returns the owner reference for objects created for the data.
func ownedBy(data *infrav1.Metal3Data) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: dataKind, Name: data.Name, UID: data.UID, Controller: ptr.To(true),
	}}
}

// store creates the Secrets. Existing Secrets are not changed.
func (r *Reconciler) store(ctx context.Context, s *scope, secrets []*corev1.Secret) (done bool, problem string, err error) {
	for _, secret := range secrets {
		existing, err := r.secret(ctx, secret.Namespace, secret.Name)
		switch {
		case err != nil:
			return false, "", err
		case existing == nil:
			// If the cache lags, the existing Secret is the data's own: a Secret of other data would be older than this data.
			if err := reconcile.Create(ctx, r.Client, secret, "Secret"); err != nil {
				return false, "", withReason(infrav1.Metal3DataSecretRefusedReason, err)
			}
		case foreign(existing, s.data):
			owner := metav1.GetControllerOf(existing)
			return false, fmt.Sprintf("Secret %s belongs to %s %s and must be deleted first", secret.Name, owner.Kind, owner.Name), nil
		}
	}
	return true, "", nil
}
