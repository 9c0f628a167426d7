// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/publish"
)

// publishDomains writes the state of every selected zone into the status, from which Cluster API reads it. It returns after
// which time to reconcile again because a grace or hold period ends.
func (r *Reconciler) publishDomains(ctx context.Context, s *scope) (time.Duration, error) {
	if s.cluster.Spec.FailureDomainSelector == nil && !s.domains.HasControlPlaneDomain() {
		s.domains.Clear()
		return 0, nil
	}
	seen, err := r.Provider.Domains(ctx, s.cluster)
	if err != nil {
		return 0, err
	}
	if len(seen) > faultlinev1.MaxFailureDomains {
		s.domains.SetReady(tooMany(s.cluster, len(seen)), s.domains.HasControlPlaneDomain())
		return 0, nil
	}
	unchecked, err := r.unchecked(ctx, s.cluster, seen)
	if err != nil {
		return 0, err
	}
	result, err := publish.Publish(ctx, s.domains, seen, &infrav1.VSphereMachine{}, waitsFor)
	if err != nil {
		return 0, err
	}
	s.domains.SetReady(domainsReady(s.cluster, len(seen), unchecked, result))
	return result.NextCheck, nil
}

func tooMany(cluster *infrav1.VSphereCluster, selected int) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: faultlinev1.ReasonTooManyFailureDomains, Message: fmt.Sprintf(
		"spec.failureDomainSelector matches %d VSphereDeploymentZones of server %s, but a cluster can have at most %d failure domains: "+
			"narrow the selector; until then the failure domains are not changed",
		selected, servers(cluster), faultlinev1.MaxFailureDomains)}
}

// servers returns the cluster's vCenters for a message.
func servers(cluster *infrav1.VSphereCluster) string {
	return strings.Join(cluster.Spec.Servers(), " or ")
}

// unchecked returns the zones whose first check a cluster that is not provisioned waits for, so that its first machines can use
// any of them. It does not wait for zones whose vCenter cannot be used.
func (r *Reconciler) unchecked(ctx context.Context, cluster *infrav1.VSphereCluster, seen []distribution.DomainObservation) ([]string, error) {
	if ptr.Deref(cluster.Status.Initialization.Provisioned, false) {
		return nil, nil
	}
	zones, err := placement.Zones(ctx, r.Client)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, zone := range placement.Selected(cluster, zones) {
		unusable := slices.ContainsFunc(seen, func(o distribution.DomainObservation) bool {
			return o.Name == zone.Name && o.Health == distribution.Unhealthy
		})
		if zone.Status.Ready == nil && !unusable {
			names = append(names, zone.Name)
		}
	}
	return names, nil
}

// domainsReady returns the condition FailureDomainsReady and whether machines may be created. That requires a zone for
// control-plane machines: without one, Cluster API would create machines without a failure domain.
func domainsReady(cluster *infrav1.VSphereCluster, selected int, unchecked []string, result distribution.Result) (condition metav1.Condition, ready bool) {
	condition = metav1.Condition{Status: metav1.ConditionFalse}
	switch {
	case selected == 0:
		condition.Reason, condition.Message = infrav1.VSphereClusterFailureDomainsNoneSelectedReason, noneSelected(cluster, result)
		return condition, false
	case len(unchecked) > 0:
		condition.Reason = infrav1.VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason
		condition.Message = "Waiting for VSphereDeploymentZones to be checked: " + strings.Join(unchecked, ", ")
		return condition, false
	}
	return result.Condition(), !result.NoControlPlaneDomain
}

// noneSelected returns a message on how to select zones, and what happens until then.
func noneSelected(cluster *infrav1.VSphereCluster, result distribution.Result) string {
	message := fmt.Sprintf("spec.failureDomainSelector matches no VSphereDeploymentZone of server %s: label the zones or change the selector", servers(cluster))
	if cluster.Spec.FailureDomainSelector == nil {
		message = "spec.failureDomainSelector was removed, but a control plane with failure domains keeps them: " +
			"set it again, or select a zone for the machines"
	}
	if len(result.Domains) == 0 {
		return message
	}
	kept := make([]string, len(result.Domains))
	for i := range result.Domains {
		kept[i] = result.Domains[i].Name
	}
	return fmt.Sprintf("%s. Until then the last control-plane failure domains stay published and receive no machines: %s", message, strings.Join(kept, ", "))
}
