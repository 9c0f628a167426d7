// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/text"
)

// placeVM creates the VSphereVM once all prerequisites exist. Its spec is decided here once, so that later changes to a zone
// do not move machines.
func (r *Reconciler) placeVM(ctx context.Context, s *scope) (placed bool, _ error) {
	switch {
	case s.infraCluster == nil:
		setProvisioned(s.infra, infrav1.VSphereMachineVirtualMachineWaitingForClusterInfrastructureReadyReason, "VSphereCluster does not exist yet")
		return false, nil
	case !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false):
		setProvisioned(s.infra, infrav1.VSphereMachineVirtualMachineWaitingForClusterInfrastructureReadyReason, "Waiting for Cluster infrastructure to be provisioned")
		return false, nil
	case s.machine.Spec.Bootstrap.DataSecretName == nil:
		setProvisioned(s.infra, infrav1.VSphereMachineVirtualMachineWaitingForBootstrapDataReason, "Waiting for Machine to have bootstrap data")
		return false, nil
	}
	zone, unplaced, err := r.zone(ctx, s)
	if err != nil {
		return false, err
	}
	if unplaced.Reason != "" {
		r.wait(s, unplaced)
		return false, nil
	}
	spec, err := placement.VM(s.infraCluster, s.infra, zone)
	if err != nil {
		r.wait(s, distribution.Refusal{Reason: infrav1.FailureDomainNotFoundReason, Message: err.Error()})
		return false, nil //nolint:nilerr // it is in the condition, and a VSphereFailureDomain that appears ends the wait
	}
	if err := r.record(ctx, s); err != nil {
		return false, err
	}
	return true, r.createVM(ctx, s, spec)
}

// record sets the condition that the placement was chosen. If the failure domain was assigned, the condition is stored with the
// resourceVersion before anything is created: if the assignment was withdrawn meanwhile, this write conflicts, and a later
// withdrawal conflicts with this one. A domain that the Machine names does not change, so it need not be stored first.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	before := slices.Clone(s.infra.Status.Conditions)
	status.True(s.infra, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachinePlacedReason)
	if s.machine.Spec.FailureDomain != "" || s.infra.Annotations[faultlinev1.AssignedFailureDomainAnnotation] == "" {
		return nil
	}
	if err := s.patch.ApplyAsRead(ctx, r.Client, s.infra); err != nil {
		s.infra.Status.Conditions = before // the failed reconcile stores its status without the resourceVersion
		return err
	}
	return nil
}

// assignmentGrace returns how long to wait for a failure domain to be assigned to a new machine.
func assignmentGrace(s *scope) time.Duration {
	if s.infraCluster == nil {
		return 0
	}
	_, wait := s.requestedZone()
	return provider.AssignmentGrace(wait, s.infra, time.Now())
}

// requestedZone returns the failure domain of the machine, or a refusal with the reason why the machine must wait for one.
func (s *scope) requestedZone() (domain string, wait distribution.Refusal) {
	return provider.RequestedDomain(requiringDomain(s.infraCluster), s.machine, s.infra, placement.VSphere{}.Location(s.infra))
}

// zone returns the deployment zone of the machine, or a refusal with the reason why it cannot be used now. The zone is nil if
// the machine has none.
func (r *Reconciler) zone(ctx context.Context, s *scope) (*placement.Zone, distribution.Refusal, error) {
	name, wait := s.requestedZone()
	if name == "" || wait.Reason != "" {
		return nil, wait, nil
	}
	zone, err := r.readZone(ctx, name)
	if err != nil {
		return nil, distribution.Refusal{}, err
	}
	if zone == nil {
		return nil, distribution.Refusal{Reason: infrav1.FailureDomainNotFoundReason, Message: fmt.Sprintf(
			"VSphereDeploymentZone %s, which the Machine specifies or was assigned, does not exist: create it, or delete the Machine", name)}, nil
	}
	return zone, mayReceive(s.infraCluster, zone, util.IsControlPlaneMachine(s.machine)), nil
}

// requiringDomain returns the cluster. If it has a selector but has not published anything yet, it returns a copy with failure
// domains, and the machine must name one of them.
func requiringDomain(cluster *infrav1.VSphereCluster) *infrav1.VSphereCluster {
	if cluster.Spec.FailureDomainSelector == nil || len(cluster.Status.Distribution.FailureDomains) > 0 {
		return cluster
	}
	cluster = cluster.DeepCopy()
	cluster.Status.Distribution.ControlPlaneNeedsDomain = ptr.To(true)
	return cluster
}

// readZone returns the zone with its failure domain, or nil if the zone does not exist.
func (r *Reconciler) readZone(ctx context.Context, name string) (*placement.Zone, error) {
	zone := &placement.Zone{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &zone.VSphereDeploymentZone); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading VSphereDeploymentZone %s: %w", name, err)
	}
	domain := &infrav1.VSphereFailureDomain{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: zone.Spec.FailureDomain}, domain); err == nil {
		zone.Domain = domain
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading VSphereFailureDomain %s: %w", zone.Spec.FailureDomain, err)
	}
	return zone, nil
}

// mayReceive decides whether the cluster may place a machine in the zone now. A zone that is on none of the cluster's vCenters
// is not a failure domain of the cluster: only workers that name it are placed there.
func mayReceive(cluster *infrav1.VSphereCluster, zone *placement.Zone, controlPlane bool) distribution.Refusal {
	notReady := func(format string, args ...any) distribution.Refusal {
		return distribution.Refusal{Reason: infrav1.VSphereMachineFailureDomainNotReadyReason, Message: fmt.Sprintf(format, args...)}
	}
	state, withdrawn := distribution.Receives(cluster.Spec.Distribution, cluster.Status.Distribution, zone.Name, distribution.PendingRefuses)
	switch {
	case controlPlane && !placement.OnServerOf(cluster, &zone.VSphereDeploymentZone):
		return notReady("VSphereDeploymentZone %s is on server %s, VSphereCluster %s is on %s: control-plane machines must be on the server of their cluster; "+
			"specify a zone that the cluster publishes, or add the server to spec.additionalServers",
			zone.Name, zone.Spec.Server, cluster.Name, strings.Join(cluster.Spec.Servers(), ", "))
	case !zone.DeletionTimestamp.IsZero():
		return notReady("VSphereDeploymentZone %s is being deleted", zone.Name)
	case staleStatus(zone):
		return notReady("VSphereDeploymentZone %s or its VSphereFailureDomain has changed and has not been checked since", zone.Name)
	case !ptr.Deref(zone.Status.Ready, false):
		return notReady("VSphereDeploymentZone %s is not ready: %s", zone.Name, notReadyBecause(zone))
	case state != faultlinev1.DomainActive:
		return notReady("%s", withdrawn.Message)
	default:
		return distribution.Refusal{}
	}
}

// staleStatus reports whether status.ready belongs to an older generation of the zone or its failure domain.
func staleStatus(zone *placement.Zone) bool {
	if zone.Status.Ready == nil {
		return false
	}
	return zone.Status.ObservedGeneration != zone.Generation || zone.Domain != nil && zone.Status.FailureDomainGeneration != zone.Domain.Generation
}

// notReadyBecause returns the message of the zone's Ready condition.
func notReadyBecause(zone *placement.Zone) string {
	ready := conditions.Get(zone, clusterv1.ReadyCondition)
	if ready == nil {
		return "it has not been checked yet"
	}
	return text.SingleLine(ready.Message)
}

// wait reports what the machine waits for in its conditions, and in an event if the reason is new.
func (r *Reconciler) wait(s *scope, why distribution.Refusal) {
	before := conditions.Get(s.infra, infrav1.VSphereMachinePlacementReadyCondition)
	if before == nil || before.Reason != why.Reason {
		r.warn(s, why.Reason, "Place", "%s", why.Message)
	}
	status.False(s.infra, infrav1.VSphereMachinePlacementReadyCondition, why.Reason, why.Message)
	setProvisioned(s.infra, why.Reason, why.Message)
}
