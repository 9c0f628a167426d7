// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/cloudprovider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

const configReady = infrav1.CloudProviderConfigReadyCondition

// tokenCheck is when to look again for the token of an account, for which nothing is sent.
const tokenCheck = lookAgain / 15

// expose is the Service of namespace kube-system by which Harvester is reached.
const expose = "ingress-expose"

// errOthers says that an object of the account's name is somebody else's.
var errOthers = errors.New("somebody else has one of that name: delete it, and the cluster's own is made")

// configureCloudProvider makes an account on Harvester for the cloud provider of the cluster, and writes its kubeconfig into the manifests
// that the user has prepared. It is done once.
func (s *scope) configureCloudProvider(ctx context.Context) (bool, error) {
	config := s.cluster.Spec.UpdateCloudProviderConfig
	if config == (infrav1.UpdateCloudProviderConfig{}) {
		return s.withoutCloudProvider(ctx)
	}
	if conditions.IsTrue(s.cluster, configReady) {
		return true, nil
	}
	manifests, err := s.manifests(ctx, config)
	if err != nil || manifests == nil {
		return false, err
	}
	kubeconfig, err := s.kubeconfig(ctx)
	if err != nil || kubeconfig == nil {
		return false, err
	}
	before := manifests.DeepCopy()
	key := config.ManifestsConfigMapKey
	manifests.Data[key], err = cloudprovider.WithKubeconfig(
		manifests.Data[key], config.CloudConfigCredentialsSecretName, config.CloudConfigCredentialsSecretKey, kubeconfig)
	if err == nil && manifests.Data[key] != before.Data[key] {
		err = s.Client.Patch(ctx, manifests, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return false, fmt.Errorf("writing the kubeconfig of the cloud provider into ConfigMap %s: %w", client.ObjectKeyFromObject(manifests), err)
	}
	status.True(s.cluster, configReady, infrav1.CloudProviderConfigGeneratedSuccessfullyReason)
	return true, nil
}

// withoutCloudProvider removes the account that was made when the spec asked for one. The condition stays until it is gone.
func (s *scope) withoutCloudProvider(ctx context.Context) (bool, error) {
	if !conditions.Has(s.cluster, configReady) {
		return true, nil
	}
	if what, err := s.deleteAccount(ctx); err != nil {
		return false, s.refused(err, configReady, infrav1.CloudProviderConfigNotRemovedReason, what)
	}
	conditions.Delete(s.cluster, configReady)
	return true, nil
}

// deleteAccount deletes what of the account is the cluster's own, last of all the account itself, with which its token would go. It returns
// what an error is about.
func (s *scope) deleteAccount(ctx context.Context) (what string, _ error) {
	account, binding, token := s.account()
	wasAsked := conditions.Has(s.cluster, configReady) || s.cluster.Spec.UpdateCloudProviderConfig != (infrav1.UpdateCloudProviderConfig{})
	for _, o := range []client.Object{binding, token, account} {
		what := fmt.Sprintf("%T %s", o, o.GetName())
		switch err := s.conn.Live().Get(ctx, client.ObjectKeyFromObject(o), o); {
		case apierrors.IsForbidden(err) && !wasAsked: // whoever may not look at one has not made one
			continue
		case apierrors.IsNotFound(err), err == nil && !s.by.Has(o):
			continue
		case err != nil:
			return "the look at " + what, err
		}
		uid := o.GetUID()
		if err := client.IgnoreNotFound(s.conn.Delete(ctx, o, client.Preconditions{UID: &uid})); err != nil {
			return what, err
		}
	}
	return "", nil
}

// manifests reads the ConfigMap that the user has prepared. It returns nil, and is looked for again, while there is none.
func (s *scope) manifests(ctx context.Context, config infrav1.UpdateCloudProviderConfig) (*corev1.ConfigMap, error) {
	key := client.ObjectKey{Namespace: config.ManifestsConfigMapNamespace, Name: config.ManifestsConfigMapName}
	manifests, err := reconcile.Find(ctx, s.Live, key, &corev1.ConfigMap{})
	if err != nil {
		return nil, err
	}
	if manifests != nil {
		if _, there := manifests.Data[config.ManifestsConfigMapKey]; there {
			return manifests, nil
		}
	}
	s.again = lookAgain
	status.False(s.cluster, configReady, infrav1.CloudProviderConfigNotReadyReason, fmt.Sprintf(
		"ConfigMap %s of spec.updateCloudProviderConfig does not exist or has no key %s: create it with the manifests of Harvester's cloud provider",
		key, config.ManifestsConfigMapKey))
	return nil, nil
}

// kubeconfig is that of an account which is made for the cluster; nil while it has no token.
func (s *scope) kubeconfig(ctx context.Context) ([]byte, error) {
	account, binding, token := s.account()
	refused := func(err error, o client.Object) error {
		if errors.Is(err, errOthers) {
			s.again = lookAgain
			status.False(s.cluster, configReady, infrav1.CloudProviderConfigGenerationFailedReason, fmt.Sprintf("%T %s: %s", o, o.GetName(), err))
			return nil
		}
		return s.refused(err, configReady, infrav1.CloudProviderConfigGenerationFailedReason, fmt.Sprintf("%T %s", o, o.GetName()))
	}
	for _, o := range []client.Object{account, binding} {
		if err := s.ensure(ctx, o); err != nil {
			return nil, refused(err, o)
		}
	}
	token.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: account.Name, UID: account.UID}}
	if err := s.ensure(ctx, token); err != nil {
		return nil, refused(err, token)
	}
	service, err := reconcile.Find(ctx, s.conn.Live(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: expose}, &corev1.Service{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if len(token.Data[corev1.ServiceAccountTokenKey]) == 0 {
		s.again = tokenCheck
		status.False(s.cluster, configReady, infrav1.CloudProviderConfigNotReadyReason, "waiting for Harvester to fill in the token of Secret "+token.Name)
		return nil, nil
	}
	return cloudprovider.Kubeconfig(cloudprovider.Server(service, s.conn.Host()), s.cluster.Spec.TargetNamespace,
		token.Data[corev1.ServiceAccountTokenKey], token.Data[corev1.ServiceAccountRootCAKey])
}

// account is what makes up the account of the cloud provider.
func (s *scope) account() (*corev1.ServiceAccount, *rbacv1.ClusterRoleBinding, *corev1.Secret) {
	name, namespace := s.by.NameFor("ccm"), s.cluster.Spec.TargetNamespace
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cloudprovider.Role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: name}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	for _, o := range []client.Object{account, binding, token} {
		s.by.Mark(o)
	}
	return account, binding, token
}

// ensure reads an object that is the cluster's, and makes it if there is none.
func (s *scope) ensure(ctx context.Context, o client.Object) error {
	wanted := o.DeepCopyObject().(client.Object)
	err := s.conn.Live().Get(ctx, client.ObjectKeyFromObject(o), o)
	switch {
	case apierrors.IsNotFound(err):
		if err := s.conn.Create(ctx, wanted); err != nil {
			return err
		}
		return s.conn.Live().Get(ctx, client.ObjectKeyFromObject(wanted), o)
	case err == nil && !s.by.Has(o):
		return errOthers
	default:
		return err
	}
}
