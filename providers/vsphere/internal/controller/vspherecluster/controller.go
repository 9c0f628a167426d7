// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vspherecluster publishes the failure domains of a cluster and their state.
package vspherecluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles VSphereClusters.
type Reconciler struct {
	Client   client.Client
	VCenters VCenters
	Secrets  *SecretOwner
	Provider provider.Provider
	Domains  *publish.Publisher
	// ClusterModules enables creating cluster modules.
	ClusterModules bool

	made    sync.Map // cluster modules, and the VSphereClusters for which they were created
	filter  watch.Filter
	written patch.Expectations
}

// VCenters returns the sessions of a cluster's servers.
type VCenters interface {
	ForCluster(context.Context, *infrav1.VSphereCluster) (*vcenter.Session, error)
	// ForServer returns the session of one of the cluster's servers.
	ForServer(ctx context.Context, cluster *infrav1.VSphereCluster, server string) (*vcenter.Session, error)
	// Servers returns the vCenters of a cluster with several.
	Servers(context.Context, *infrav1.VSphereCluster, []placement.Zone) ([]placement.Server, error)
	// ClustersOf returns the VSphereClusters that use an account.
	ClustersOf(account string) []client.ObjectKey
	// ForgetCluster drops the state of a deleted VSphereCluster.
	ForgetCluster(client.ObjectKey)
}

type scope struct {
	owner   *clusterv1.Cluster
	cluster *infrav1.VSphereCluster
	domains *publish.Domains
	patch   *patch.Patch
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusters/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Reconcile keeps the cluster's identity Secret, publishes its failure domains and reports it as provisioned.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.VSphereCluster, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Domains.Recorder, V1Beta1: conversion.ClusterConditions(), Finalizer: infrav1.ClusterFinalizer, SharedConditions: true,
		NewScope: r.newScope, ReconcileNormal: r.reconcileNormal, ReconcileDelete: r.reconcileDelete,
		Summarize: summarize, Stored: func(s *scope) { s.domains.RecordEvents() }, Forget: r.forget,
	}.Run(ctx, req, &infrav1.VSphereCluster{})
}

func (r *Reconciler) newScope(ctx context.Context, cluster *infrav1.VSphereCluster, p *patch.Patch) (*scope, error) {
	owner, err := reconcile.OwnerCluster(ctx, r.Client, cluster)
	if err != nil || owner == nil {
		return nil, err
	}
	return &scope{owner: owner, cluster: cluster, domains: r.Domains.Of(cluster, owner.Name), patch: p}, nil
}

func (r *Reconciler) forget(cluster client.ObjectKey) {
	r.Domains.Forget(cluster)
	r.VCenters.ForgetCluster(cluster)
	r.made.Range(func(module, maker any) bool {
		if maker == cluster {
			r.made.Delete(module)
		}
		return true
	})
}

// Owner returns the Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.owner }

func summarize(_ context.Context, s *scope) error {
	return s.domains.Summarize(infrav1.VSphereClusterVCenterAvailableCondition)
}

func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	unavailable, err := r.connect(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	retryServers, err := r.reportServers(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	next, err := r.publishDomains(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if unavailable == nil && s.domains.Ready() && !ptr.Deref(s.cluster.Status.Initialization.Provisioned, false) {
		s.cluster.Status.Initialization.Provisioned = ptr.To(true)
	}
	next = reconcile.Earlier(reconcile.Earlier(next, retryServers), connection.RetryAfter(unavailable))
	if unavailable == nil || len(s.cluster.Spec.AdditionalServers) > 0 {
		again, err := r.ensureModules(ctx, s)
		if err != nil {
			return ctrl.Result{}, err
		}
		next = reconcile.Earlier(next, again)
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// connect reports whether the cluster's vCenter is available. It returns why it is not, or another error.
func (r *Reconciler) connect(ctx context.Context, s *scope) (unavailable, err error) {
	err = s.patch.Tolerate(r.Secrets.Own(ctx, s.cluster))
	if apierrors.IsConflict(err) || errors.Is(err, patch.ErrBehind) {
		return nil, err // not an error of vCenter
	}
	var session *vcenter.Session
	if err == nil {
		session, err = r.VCenters.ForCluster(ctx, s.cluster)
	}
	available := connection.Condition(err)
	if err == nil {
		if available.Message, err = r.onOtherServers(ctx, s.cluster); err != nil {
			return nil, err
		}
	}
	conditions.Set(s.cluster, available)
	switch {
	case err == nil:
		s.cluster.Status.VCenterVersion = session.Version()
		return nil, nil
	case connection.Waits(err):
		return err, nil
	}
	return nil, err
}

// reconcileDelete waits for the machines, whose deletion needs the cluster's account.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	names, err := reconcile.Remaining(ctx, r.Client, s.cluster, map[string]client.ObjectList{
		"VSphereMachine": &infrav1.VSphereMachineList{}, "VSphereVM": &infrav1.VSphereVMList{},
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(names) > 0 {
		status.False(s.cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsDeletingReason,
			fmt.Sprintf("Waiting for %d objects to be deleted: %s", len(names), strings.Join(names[:min(5, len(names))], ", ")))
		return ctrl.Result{}, nil
	}
	if again, done, err := r.removeModules(ctx, s); err != nil || !done {
		return ctrl.Result{RequeueAfter: again}, err
	}
	if err := r.Secrets.Release(ctx, s.cluster); err != nil {
		return ctrl.Result{}, err
	}
	s.domains.Remove()
	controllerutil.RemoveFinalizer(s.cluster, infrav1.ClusterFinalizer)
	return ctrl.Result{}, nil
}
