// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

const configReady = infrav1.CloudProviderConfigReadyCondition

// tokenCheckInterval is how long to wait before reading the account's token again, as its creation triggers no event.
const tokenCheckInterval = recheckInterval / 15

// exposeService is the name of the Service in kube-system that exposes Harvester.
const exposeService = "ingress-expose"

// errForeign reports that an object with the account's name belongs to another owner.
var errForeign = errors.New("it belongs to another owner: delete it, and the controller creates the cluster's own")

// configureCloudProvider creates an account on Harvester for the cluster's cloud provider, and writes its kubeconfig into the manifests
// that the user prepared. The kubeconfig is written once, and again after the account had to be recreated.
func (s *scope) configureCloudProvider(ctx context.Context) (bool, error) {
	config := s.cluster.Spec.UpdateCloudProviderConfig
	if config == (infrav1.UpdateCloudProviderConfig{}) {
		return s.removeCloudProvider(ctx)
	}
	if conditions.IsTrue(s.cluster, configReady) {
		if kept, err := s.maintainAccount(ctx); kept || err != nil {
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

// removeCloudProvider deletes the account if the spec no longer requests one. The condition stays until the account is deleted.
func (s *scope) removeCloudProvider(ctx context.Context) (bool, error) {
	if !conditions.Has(s.cluster, configReady) {
		return true, nil
	}
	if what, err := s.deleteAccount(ctx); err != nil {
		return false, s.reportRejected(err, configReady, infrav1.CloudProviderConfigNotRemovedReason, what)
	}
	conditions.Delete(s.cluster, configReady)
	return true, nil
}

// deleteAccount deletes the account's objects that belong to the cluster. The ServiceAccount comes last, because its token is
// deleted with it. It returns the object that caused an error.
func (s *scope) deleteAccount(ctx context.Context) (what string, _ error) {
	a := s.account()
	wasRequested := conditions.Has(s.cluster, configReady) || s.cluster.Spec.UpdateCloudProviderConfig != (infrav1.UpdateCloudProviderConfig{})
	for _, o := range append([]client.Object{a.former, a.token}, append(a.rights(), a.account)...) {
		what := patch.KindOf(s.conn, o) + " " + o.GetName()
		switch err := s.conn.Live().Get(ctx, client.ObjectKeyFromObject(o), o); {
		case apierrors.IsForbidden(err) && (!wasRequested || slices.Contains(a.rights(), o)):
			continue // without read access the objects were not created either; rights without an account are harmless
		case apierrors.IsNotFound(err), err == nil && !s.by.Has(o):
			continue
		case err != nil:
			return "reading " + what, err
		}
		uid := o.GetUID()
		if err := client.IgnoreNotFound(s.conn.Delete(ctx, o, client.Preconditions{UID: &uid})); err != nil {
			return what, err
		}
	}
	return "", nil
}

// kubeconfig returns the kubeconfig of the cluster's account, which it creates if needed. It returns nil while the account has no token.
func (s *scope) kubeconfig(ctx context.Context) ([]byte, error) {
	a := s.account()
	if _, ok, err := s.ensureAccount(ctx, a); err != nil || !ok {
		return nil, err
	}
	service, err := reconcile.Find(ctx, s.conn.Live(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: exposeService}, &corev1.Service{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if len(a.token.Data[corev1.ServiceAccountTokenKey]) == 0 {
		s.requeueAfter = tokenCheckInterval
		status.False(s.cluster, configReady, infrav1.CloudProviderConfigNotReadyReason, "waiting for Harvester to fill in the token of Secret "+a.token.Name)
		return nil, nil
	}
	return CloudProviderKubeconfig(MachinesServer(service, s.conn.Host()), s.cluster.Spec.TargetNamespace,
		a.token.Data[corev1.ServiceAccountTokenKey], a.token.Data[corev1.ServiceAccountRootCAKey])
}
