// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// accountCheckInterval is the interval at which the account is checked: the deletion of one of its objects triggers no event.
const accountCheckInterval = 10 * time.Minute

// account holds the objects that make up the cloud provider's account on Harvester.
type account struct {
	account *corev1.ServiceAccount
	token   *corev1.Secret
	// binding grants the account the cloud providers' role in the namespace of the cluster's virtual machines.
	binding *rbacv1.RoleBinding
	// hosts lets the account read Harvester's hosts, whose labels hold the zones of Nodes.
	hosts        *rbacv1.ClusterRole
	hostsBinding *rbacv1.ClusterRoleBinding
	// former is the binding that earlier releases created: it grants the account the cloud providers' role in all namespaces.
	former *rbacv1.ClusterRoleBinding
}

func (s *scope) account() *account {
	name, hosts, namespace := s.by.NameFor("ccm"), s.by.NameFor("ccm-hosts"), s.cluster.Spec.TargetNamespace
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	a := &account{
		account: &corev1.ServiceAccount{ObjectMeta: meta},
		token: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: name}},
			Type:       corev1.SecretTypeServiceAccountToken,
		},
		binding: &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role(CloudProviderRole), Subjects: subjects},
		hosts: &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: hosts}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{corev1.GroupName}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"},
		}}},
		hostsBinding: &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: hosts}, RoleRef: role(hosts), Subjects: subjects},
		former:       &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}},
	}
	for _, o := range append(a.rights(), a.account, a.token) {
		s.by.Mark(o)
	}
	return a
}

func (a *account) rights() []client.Object {
	return []client.Object{a.binding, a.hosts, a.hostsBinding}
}

// maintainAccount recreates deleted objects of the account, at most once per accountCheckInterval. It reports false if the
// kubeconfig must be written again, or if the condition shows an obstacle.
func (s *scope) maintainAccount(ctx context.Context) (bool, error) {
	key := client.ObjectKeyFromObject(s.cluster)
	if last, found := s.accountChecks.Load(key); found {
		if wait := accountCheckInterval - time.Since(last.(time.Time)); wait > 0 {
			s.requeueAfter = reconcile.Earlier(s.requeueAfter, wait)
			return true, nil
		}
	}
	recreated, ok, err := s.ensureAccount(ctx, s.account())
	if err != nil || !ok {
		return false, err
	}
	if recreated {
		s.warn(infrav1.CloudProviderConfigNotReadyReason, "The cloud provider's account on Harvester, or its token, was deleted: it is created again, "+
			"and its kubeconfig is written into ConfigMap %s/%s: make sure that it is applied to the cluster",
			s.cluster.Spec.UpdateCloudProviderConfig.ManifestsConfigMapNamespace, s.cluster.Spec.UpdateCloudProviderConfig.ManifestsConfigMapName)
		return false, nil
	}
	s.accountChecks.Store(key, time.Now())
	s.requeueAfter = reconcile.Earlier(s.requeueAfter, accountCheckInterval)
	return true, nil
}

// ensureAccount creates the missing objects of the account. It removes an earlier release's binding last, so that the account always has
// its rights. anyCreated reports whether the account or its token was created; ok is false if the condition shows an obstacle.
func (s *scope) ensureAccount(ctx context.Context, a *account) (anyCreated, ok bool, _ error) {
	for _, o := range append([]client.Object{a.account}, a.rights()...) {
		created, err := s.ensure(ctx, o)
		if err != nil {
			return false, false, s.reportAccountError(err, o)
		}
		anyCreated = anyCreated || created && o == a.account
	}
	a.token.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: a.account.Name, UID: a.account.UID}}
	created, err := s.ensure(ctx, a.token)
	if err == nil {
		err = s.deleteFormerBinding(ctx, a.former)
	}
	if err != nil {
		return false, false, s.reportAccountError(err, a.token)
	}
	return anyCreated || created, true, nil
}

// deleteFormerBinding deletes the binding that applies to all namespaces.
func (s *scope) deleteFormerBinding(ctx context.Context, binding *rbacv1.ClusterRoleBinding) error {
	err := s.conn.Live().Get(ctx, client.ObjectKeyFromObject(binding), binding)
	if apierrors.IsNotFound(err) || err == nil && !s.by.Has(binding) {
		return nil
	}
	if err == nil {
		err = client.IgnoreNotFound(s.conn.Delete(ctx, binding, client.Preconditions{UID: &binding.UID}))
	}
	if err != nil {
		return fmt.Errorf("replacing ClusterRoleBinding %s, which grants the account its rights in all namespaces: %w", binding.Name, err)
	}
	return nil
}

func (s *scope) reportAccountError(err error, o client.Object) error {
	if errors.Is(err, errForeign) {
		s.requeueAfter = recheckInterval
		status.False(s.cluster, configReady, infrav1.CloudProviderConfigGenerationFailedReason, fmt.Sprintf("%s %s: %s", patch.KindOf(s.conn, o), o.GetName(), err))
		return nil
	}
	return s.reportRejected(err, configReady, infrav1.CloudProviderConfigGenerationFailedReason, patch.KindOf(s.conn, o)+" "+o.GetName())
}

// ensure reads an object that belongs to the cluster, or creates it if it does not exist. It reports whether it created the object.
func (s *scope) ensure(ctx context.Context, o client.Object) (bool, error) {
	wanted := o.DeepCopyObject().(client.Object)
	err := s.conn.Live().Get(ctx, client.ObjectKeyFromObject(o), o)
	switch {
	case apierrors.IsNotFound(err):
		if err := s.conn.Create(ctx, wanted); err != nil {
			return false, err
		}
		return true, s.conn.Live().Get(ctx, client.ObjectKeyFromObject(wanted), o)
	case err == nil && !s.by.Has(o):
		return false, errForeign
	default:
		return false, err
	}
}
