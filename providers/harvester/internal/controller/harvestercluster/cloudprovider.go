// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
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
// that the user has prepared. The kubeconfig is written once, and again when the account had to be made again.
func (s *scope) configureCloudProvider(ctx context.Context) (bool, error) {
	config := s.cluster.Spec.UpdateCloudProviderConfig
	if config == (infrav1.UpdateCloudProviderConfig{}) {
		return s.withoutCloudProvider(ctx)
	}
	if conditions.IsTrue(s.cluster, configReady) {
		if kept, err := s.keepAccount(ctx); kept || err != nil {
			return kept, err
		}
	}
	manifests, err := s.manifests(ctx, config)
	if err != nil || manifests == nil {
		return false, err
	}
	kubeconfig, err := s.kubeconfig(ctx)
	if err != nil || kubeconfig == nil {
		return false, err
	}
	if err := s.writeKubeconfig(ctx, manifests, config, kubeconfig); err != nil {
		return false, err
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
	a := s.account()
	wasAsked := conditions.Has(s.cluster, configReady) || s.cluster.Spec.UpdateCloudProviderConfig != (infrav1.UpdateCloudProviderConfig{})
	for _, o := range append([]client.Object{a.former, a.token}, append(a.rights(), a.account)...) {
		what := fmt.Sprintf("%T %s", o, o.GetName())
		switch err := s.conn.Live().Get(ctx, client.ObjectKeyFromObject(o), o); {
		case apierrors.IsForbidden(err) && (!wasAsked || slices.Contains(a.rights(), o)):
			continue // whoever may not look at one has not made one; and rights of an account that is gone are nobody's
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

// kubeconfig is that of an account which is made for the cluster; nil while it has no token.
func (s *scope) kubeconfig(ctx context.Context) ([]byte, error) {
	a := s.account()
	if _, ok, err := s.ensureAccount(ctx, a); err != nil || !ok {
		return nil, err
	}
	service, err := reconcile.Find(ctx, s.conn.Live(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: expose}, &corev1.Service{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if len(a.token.Data[corev1.ServiceAccountTokenKey]) == 0 {
		s.again = tokenCheck
		status.False(s.cluster, configReady, infrav1.CloudProviderConfigNotReadyReason, "waiting for Harvester to fill in the token of Secret "+a.token.Name)
		return nil, nil
	}
	return CloudProviderKubeconfig(MachinesServer(service, s.conn.Host()), s.cluster.Spec.TargetNamespace,
		a.token.Data[corev1.ServiceAccountTokenKey], a.token.Data[corev1.ServiceAccountRootCAKey])
}
