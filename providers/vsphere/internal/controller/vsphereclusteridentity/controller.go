// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphereclusteridentity keeps the Secret of a VSphereClusterIdentity and reports whether it can be used.
package vsphereclusteridentity

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles VSphereClusterIdentities.
type Reconciler struct {
	Client client.Client
	// Cache reads the metadata of Secrets.
	Cache client.Reader
	// Namespace is the manager's namespace, which holds the Secrets.
	Namespace string
	// Recorder reports writes that other clients revert.
	Recorder events.EventRecorder

	filter  watch.Filter
	written patch.Expectations
	secrets patch.Repeats
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusteridentities,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusteridentities/status,verbs=patch

// Reconcile makes the identity the owner of its Secret.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.VSphereClusterIdentity, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder, V1Beta1: conversion.IdentityConditions(), Finalizer: infrav1.VSphereClusterIdentityFinalizer,
		NewScope: newScope, ReconcileNormal: r.own, ReconcileDelete: r.reconcileDelete,
	}.Run(ctx, req, &infrav1.VSphereClusterIdentity{})
}

// scope holds the identity, which belongs to no Cluster.
type scope struct {
	identity *infrav1.VSphereClusterIdentity
	patch    *patch.Patch
}

func newScope(_ context.Context, identity *infrav1.VSphereClusterIdentity, p *patch.Patch) (*scope, error) {
	return &scope{identity: identity, patch: p}, nil
}

// Owner returns nil.
func (s *scope) Owner() *clusterv1.Cluster { return nil }

// own adds the owner reference and finalizer to the Secret, unless it has another owner.
func (r *Reconciler) own(ctx context.Context, s *scope) (ctrl.Result, error) {
	identity := s.identity
	secret, err := r.secret(ctx, identity)
	if apierrors.IsNotFound(err) {
		unavailable(identity, infrav1.VSphereClusterIdentitySecretNotAvailableReason, fmt.Sprintf(
			"Secret %s/%s, named by spec.secretName, does not exist: create it with the keys username and password", r.Namespace, identity.Spec.SecretName))
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	for _, ref := range secret.OwnerReferences {
		if strings.HasPrefix(ref.Kind, "VSphereCluster") && ref.UID != identity.UID && (ref.Kind != "VSphereClusterIdentity" || ref.Name != identity.Name) {
			unavailable(identity, infrav1.VSphereClusterIdentitySecretAlreadyInUseReason, fmt.Sprintf(
				"Secret %s/%s belongs to %s %s: give each its own Secret", r.Namespace, secret.Name, ref.Kind, ref.Name))
			return ctrl.Result{}, nil
		}
	}
	before := secret.DeepCopy()
	secret.OwnerReferences = util.EnsureOwnerRef(secret.OwnerReferences, metav1.OwnerReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereClusterIdentity", Name: identity.Name, UID: identity.UID,
	})
	controllerutil.AddFinalizer(secret, infrav1.SecretIdentitySetFinalizer)
	if !equality.Semantic.DeepEqual(before, secret) {
		if err := s.patch.Tolerate(r.secrets.Write(ctx, r.Client, before, secret)); err != nil {
			return ctrl.Result{}, fmt.Errorf("patching Secret %s: %w", secret.Name, err)
		}
	}
	status.True(identity, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentityAvailableReason)
	identity.Status.Ready = ptr.To(true)
	return ctrl.Result{}, r.release(ctx, identity, secret.Name)
}

// reconcileDelete waits for the clusters and zones that use the identity, because their machines cannot be deleted without it.
// The garbage collector then deletes the Secret.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	identity := s.identity
	user, err := r.user(ctx, identity)
	if err != nil {
		return ctrl.Result{}, err
	}
	if user != "" {
		unavailable(identity, infrav1.VSphereClusterIdentityDeletingReason, fmt.Sprintf(
			"%s still uses it in spec.identityRef: name another identity there, or delete it", user))
		return ctrl.Result{}, nil
	}
	if err := r.release(ctx, identity, ""); err != nil {
		return ctrl.Result{}, err
	}
	controllerutil.RemoveFinalizer(identity, infrav1.VSphereClusterIdentityFinalizer)
	return ctrl.Result{}, nil
}

// release releases the identity's Secrets except one: spec.secretName may have named another before. A Secret of an identity in
// deletion keeps its owner reference, so that the garbage collector deletes it.
func (r *Reconciler) release(ctx context.Context, identity *infrav1.VSphereClusterIdentity, except string) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := r.Cache.List(ctx, secrets, client.InNamespace(r.Namespace)); err != nil {
		return fmt.Errorf("listing Secrets of %s: %w", r.Namespace, err)
	}
	owner := metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereClusterIdentity", Name: identity.Name}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if secret.Name == except || !util.HasOwnerRef(secret.OwnerReferences, owner) {
			continue
		}
		before := secret.DeepCopy()
		controllerutil.RemoveFinalizer(secret, infrav1.SecretIdentitySetFinalizer)
		if identity.DeletionTimestamp.IsZero() {
			secret.OwnerReferences = util.RemoveOwnerRef(secret.OwnerReferences, owner)
		}
		if err := r.secrets.Write(ctx, r.Client, before, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("releasing Secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

// user returns the kind and name of an object that uses the identity, or "".
func (r *Reconciler) user(ctx context.Context, identity *infrav1.VSphereClusterIdentity) (string, error) {
	clusters, zones := &infrav1.VSphereClusterList{}, &infrav1.VSphereDeploymentZoneList{}
	if err := r.Client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing VSphereClusters: %w", err)
	}
	for i := range clusters.Items {
		if nameIn(&clusters.Items[i].Spec.IdentityRef) == identity.Name {
			return "VSphereCluster " + client.ObjectKeyFromObject(&clusters.Items[i]).String(), nil
		}
	}
	if err := r.Client.List(ctx, zones, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing VSphereDeploymentZones: %w", err)
	}
	for i := range zones.Items {
		if nameIn(zones.Items[i].Spec.IdentityRef) == identity.Name {
			return "VSphereDeploymentZone " + zones.Items[i].Name, nil
		}
	}
	return "", nil
}

// nameIn returns the name of the VSphereClusterIdentity that a reference names, or "".
func nameIn(ref *infrav1.VSphereIdentityReference) string {
	if ref == nil || ref.Kind != infrav1.VSphereClusterIdentityKind {
		return ""
	}
	return ref.Name
}

func (r *Reconciler) secret(ctx context.Context, identity *infrav1.VSphereClusterIdentity) (*metav1.PartialObjectMetadata, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := r.Cache.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: identity.Spec.SecretName}, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, err
		}
		return nil, fmt.Errorf("reading Secret %s/%s: %w", r.Namespace, identity.Spec.SecretName, err)
	}
	return secret, nil
}

func unavailable(identity *infrav1.VSphereClusterIdentity, reason, message string) {
	status.False(identity, infrav1.VSphereClusterIdentityAvailableCondition, reason, message)
	identity.Status.Ready = ptr.To(false)
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.VSphereClusterIdentity{}, builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}),
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), ctrl.LoggerFrom(ctx), watchFilter))).
		WithOptions(options).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.identitiesOfSecret)).
		Watches(&infrav1.VSphereCluster{}, handler.EnqueueRequestsFromMapFunc(identityOfCluster)).
		Watches(&infrav1.VSphereDeploymentZone{}, handler.EnqueueRequestsFromMapFunc(identityOfZone)).
		Complete(r)
}

func (r *Reconciler) identitiesOfSecret(ctx context.Context, secret client.Object) []ctrl.Request {
	if secret.GetNamespace() != r.Namespace {
		return nil
	}
	return watch.Requests(ctx, r.Client, &infrav1.VSphereClusterIdentityList{}, func(identity *infrav1.VSphereClusterIdentity) bool {
		return identity.Spec.SecretName == secret.GetName()
	})
}

func identityOfCluster(_ context.Context, o client.Object) []ctrl.Request {
	return requests(&o.(*infrav1.VSphereCluster).Spec.IdentityRef)
}

func identityOfZone(_ context.Context, o client.Object) []ctrl.Request {
	return requests(o.(*infrav1.VSphereDeploymentZone).Spec.IdentityRef)
}

func requests(ref *infrav1.VSphereIdentityReference) []ctrl.Request {
	if name := nameIn(ref); name != "" {
		return []ctrl.Request{{NamespacedName: client.ObjectKey{Name: name}}}
	}
	return nil
}
