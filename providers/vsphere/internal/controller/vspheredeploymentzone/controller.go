// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vspheredeploymentzone checks that the zones in which machines are placed exist and match their specification.
package vspheredeploymentzone

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/providers/vsphere/internal/managementcluster"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// recheck is the interval to check a zone again after a problem whose end no event may report: tags are not in vCenter's
// stream, not every account can see their events, and a virtual machine that is not a template can serve as one.
const recheck = time.Minute

// Reconciler reconciles VSphereDeploymentZones.
type Reconciler struct {
	Client   client.Client
	VCenters VCenters
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Namespace is the manager's namespace, which holds the Secrets of VSphereClusterIdentities.
	Namespace string
	// Live reads from the API server, bypassing the cache.
	Live client.Reader
	// ManagementCluster identifies this management cluster.
	ManagementCluster *managementcluster.ID
	// RetryAfter is the delay after vCenter has rejected a change.
	RetryAfter time.Duration

	filter  watch.Filter
	written patch.Expectations
	domains patch.Repeats
}

// VCenters returns the session with which to check a zone.
type VCenters interface {
	ForZone(context.Context, *infrav1.VSphereDeploymentZone) (*vcenter.Session, infrav1.ZoneAccount, error)
	// ZonesOf returns the zones that are checked with an account.
	ZonesOf(account string) []client.ObjectKey
	// ForgetZone drops the state of a deleted zone.
	ForgetZone(client.ObjectKey)
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheredeploymentzones,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheredeploymentzones/status,verbs=patch

// Reconcile checks the zone against the inventory and reports all problems at once.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	zone := &scope{}
	return reconcile.Loop[*infrav1.VSphereDeploymentZone, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder, V1Beta1: conversion.ZoneConditions(), Finalizer: infrav1.DeploymentZoneFinalizer,
		NewScope: func(_ context.Context, _ *infrav1.VSphereDeploymentZone, p *patch.Patch) (*scope, error) {
			zone.patch = p
			return zone, nil
		},
		ReconcileNormal: r.check, ReconcileDelete: r.reconcileDelete, Summarize: summarize, Forget: r.VCenters.ForgetZone,
	}.Run(ctx, req, &zone.VSphereDeploymentZone)
}

// scope holds the zone, which belongs to no Cluster. Its failure domain is read during the check.
type scope struct {
	placement.Zone

	patch *patch.Patch
}

// Owner returns nil.
func (s *scope) Owner() *clusterv1.Cluster { return nil }

func summarize(_ context.Context, s *scope) error {
	if !s.DeletionTimestamp.IsZero() {
		return nil // the condition Ready reports what the deletion waits for
	}
	return status.Summarize(&s.VSphereDeploymentZone, infrav1.VSphereDeploymentZoneVCenterAvailableCondition,
		infrav1.VSphereDeploymentZonePlacementConstraintReadyCondition, infrav1.VSphereDeploymentZoneFailureDomainValidatedCondition)
}

// check sets status.ready. It leaves it unchanged if the zone cannot be checked: an unavailable vCenter means nothing for the
// zone.
func (r *Reconciler) check(ctx context.Context, s *scope) (ctrl.Result, error) {
	zone, object := &s.Zone, &s.VSphereDeploymentZone
	domain := &infrav1.VSphereFailureDomain{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: object.Spec.FailureDomain}, domain); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("reading VSphereFailureDomain %s: %w", object.Spec.FailureDomain, err)
		}
		r.setCheckResult(zone, vcenter.ZoneReport{Problems: []inventory.ZoneProblem{{
			Reason:  infrav1.VSphereDeploymentZoneFailureDomainNotFoundReason,
			Message: fmt.Sprintf("VSphereFailureDomain %s, named by spec.failureDomain, does not exist", object.Spec.FailureDomain),
		}}})
		return ctrl.Result{}, nil
	}
	zone.Domain = domain
	if err := s.patch.Tolerate(r.own(ctx, object, domain)); err != nil {
		return ctrl.Result{}, err
	}
	session, account, err := r.VCenters.ForZone(ctx, object)
	r.setVCenterAvailable(object, err)
	if err != nil {
		return ctrl.Result{RequeueAfter: connection.RetryAfter(err)}, ignoreWaits(err)
	}
	again, err := r.configure(ctx, s, session)
	if err != nil {
		r.setVCenterAvailable(object, err)
		return ctrl.Result{}, err
	}
	report, err := session.CheckZone(ctx, placement.Check(zone))
	if err != nil {
		r.setVCenterAvailable(object, err)
		return ctrl.Result{}, err
	}
	object.Status.CheckedBy = account
	r.setCheckResult(zone, report)
	if again {
		return ctrl.Result{RequeueAfter: r.RetryAfter}, nil
	}
	if len(only(report.Problems, inventory.ZoneChecks(), func(c inventory.ZoneCheck) bool { return c.Unreported })) > 0 {
		return ctrl.Result{RequeueAfter: recheck}, nil
	}
	return ctrl.Result{}, nil
}

// setVCenterAvailable reports whether the zone can be checked, and since when its state is stale.
func (r *Reconciler) setVCenterAvailable(zone *infrav1.VSphereDeploymentZone, err error) {
	condition := connection.Condition(err)
	switch {
	case err == nil:
		zone.Status.StaleSince = metav1.Time{}
	case zone.Status.Ready != nil:
		if zone.Status.StaleSince.IsZero() {
			zone.Status.StaleSince = metav1.NewTime(r.Clock.Now())
		}
		condition.Message = fmt.Sprintf("%s; the status is from %s", condition.Message, zone.Status.StaleSince.UTC().Format(time.RFC3339))
	}
	conditions.Set(zone, condition)
}

func ignoreWaits(err error) error {
	if connection.Waits(err) {
		return nil
	}
	return err
}

// reconcileDelete removes the finalizer once no machine uses the zone and everything that was created in vCenter only for it is
// deleted. Machines in deletion count, because they still exist.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	zone := &s.VSphereDeploymentZone
	machines, err := placement.MachinesIn(ctx, r.Client, zone.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(machines) == 0 {
		over, result, err := r.releaseConfigured(ctx, s)
		if over && err == nil {
			err = r.disown(ctx, zone)
		}
		if over && err == nil {
			controllerutil.RemoveFinalizer(zone, infrav1.DeploymentZoneFinalizer)
		}
		return result, err
	}
	message := fmt.Sprintf("Waiting for %d machines in the failure domain to be deleted: %s", len(machines), strings.Join(machines[:min(3, len(machines))], ", "))
	status.False(zone, clusterv1.ReadyCondition, clusterv1.DeletingReason, message)
	return ctrl.Result{}, nil
}
