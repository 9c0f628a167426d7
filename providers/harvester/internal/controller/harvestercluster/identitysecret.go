// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// IdentitySecretReconciler keeps Secrets with kubeconfigs for Harvester while HarvesterClusters use them, by a finalizer. Neither a cluster
// nor its machines can be deleted without the kubeconfig, and a namespace's deletion removes kinds in any order. It reads and writes only
// the metadata of Secrets.
type IdentitySecretReconciler struct {
	Client client.Client
	// Namespace is the only namespace whose HarvesterClusters are cached; "" means all. The users of Secrets in other namespaces are
	// unknown.
	Namespace string
	Recorder  events.EventRecorder

	writes patch.Repeats
}

// identitySecretIndex is the field index of HarvesterClusters by identity Secret.
const identitySecretIndex = "identitySecret"

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters,verbs=get;list;watch

// SetupWithManager adds the controller to the manager.
func (r *IdentitySecretReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.HarvesterCluster{}, identitySecretIndex, byIdentitySecret); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("identitysecret").
		For(&corev1.Secret{}, builder.OnlyMetadata).
		WithOptions(options).
		// An update enqueues both the previously and the currently referenced Secret.
		Watches(&infrav1.HarvesterCluster{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []ctrl.Request {
			return []ctrl.Request{{NamespacedName: identitySecretOf(o)}}
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}

func byIdentitySecret(cluster client.Object) []string {
	return []string{identitySecretOf(cluster).String()}
}

func identitySecretOf(cluster client.Object) client.ObjectKey {
	named := cluster.(*infrav1.HarvesterCluster).Spec.IdentitySecret
	return client.ObjectKey{Namespace: named.Namespace, Name: named.Name}
}

// Reconcile adds the finalizer to a Secret that a HarvesterCluster uses, and removes it once no HarvesterCluster uses it. A
// HarvesterCluster exists until its machines are deleted.
func (r *IdentitySecretReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if r.Namespace != "" && req.Namespace != r.Namespace {
		return ctrl.Result{}, nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := r.Client.Get(ctx, req.NamespacedName, secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	used, err := r.used(ctx, secret)
	if err != nil {
		return ctrl.Result{}, err
	}
	before, changed := secret.DeepCopy(), false
	switch {
	case !used:
		changed = controllerutil.RemoveFinalizer(secret, infrav1.IdentitySecretFinalizer)
	case secret.DeletionTimestamp.IsZero():
		changed = controllerutil.AddFinalizer(secret, infrav1.IdentitySecretFinalizer)
	}
	if !changed {
		return ctrl.Result{}, nil
	}
	err = r.writes.Write(ctx, r.Client, before, secret)
	if undone, news := patch.ReportableError(err); news {
		r.Recorder.Eventf(secret, nil, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, "KeepSecret", "%s", undone)
	}
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Outcome(ctrl.Result{}, fmt.Errorf("changing the finalizer of Secret %s: %w", req, err))
	}
	return ctrl.Result{}, nil
}

// used reports whether a HarvesterCluster references the Secret and the Secret allows it.
func (r *IdentitySecretReconciler) used(ctx context.Context, secret *metav1.PartialObjectMetadata) (bool, error) {
	clusters := &infrav1.HarvesterClusterList{}
	key := client.ObjectKeyFromObject(secret)
	if err := r.Client.List(ctx, clusters, client.MatchingFields{identitySecretIndex: key.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing HarvesterClusters of Secret %s: %w", key, err)
	}
	for i := range clusters.Items {
		if owned.MayUseIdentity(secret, clusters.Items[i].Namespace) {
			return true, nil
		}
	}
	return false, nil
}
