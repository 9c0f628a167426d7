// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/status"
)

// publishDomains writes the state of every selected zone into the status, from where Cluster API takes it. It returns
// when to look again although nothing has happened: a grace or hold period ends.
func (r *Reconciler) publishDomains(ctx context.Context, s *scope) (time.Duration, error) {
	if s.cluster.Spec.FailureDomainSelector == nil && !s.target(nil).ForControlPlanes() {
		r.Domains.Withdraw(s.target(nil))
		conditions.Delete(s.cluster, infrav1.VSphereClusterFailureDomainsReadyCondition)
		s.domainsReady = true
		return 0, nil
	}
	zones, err := placement.Zones(ctx, r.Client)
	if err != nil {
		return 0, err
	}
	waiting, err := r.waiting(ctx, s)
	if err != nil {
		return 0, err
	}
	selected := placement.Selected(s.cluster, zones)
	if len(selected) > faultlinev1.MaxFailureDomains {
		status.False(s.cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, faultlinev1.ReasonTooManyFailureDomains, fmt.Sprintf(
			"spec.failureDomainSelector matches %d VSphereDeploymentZones of server %s, and a cluster can have %d failure domains: "+
				"make the selector narrower; until then the failure domains stay as they are",
			len(selected), s.cluster.Spec.Server, faultlinev1.MaxFailureDomains))
		s.domainsReady = s.target(nil).ForControlPlanes()
		return 0, nil
	}
	result, err := r.Domains.Publish(ctx, s.target(waiting), placement.Observations(selected))
	if err != nil {
		return 0, err
	}
	s.domainsReady = summarize(s.cluster, selected, result)
	return result.NextCheck, nil
}

func (s *scope) target(waiting map[string]int) publish.Target {
	return publish.Target{
		Object: s.cluster, Cluster: s.owner.Name, Spec: s.cluster.Spec.Distribution,
		Domains: &s.cluster.Status.FailureDomains, Distribution: &s.cluster.Status.Distribution, Waiting: waiting,
	}
}

// waiting counts the machines that wait for their failure domain, by reason.
func (r *Reconciler) waiting(ctx context.Context, s *scope) (map[string]int, error) {
	machines := &infrav1.VSphereMachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(s.cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.owner.Name}); err != nil {
		return nil, fmt.Errorf("listing VSphereMachines of %s: %w", s.owner.Name, err)
	}
	reasons := map[string]int{}
	for i := range machines.Items {
		if reason := waitsFor(&machines.Items[i]); reason != "" {
			reasons[reason]++
		}
	}
	return reasons, nil
}

// summarize sets the FailureDomainsReady condition and reports whether machines may be created. That needs one zone that
// takes control-plane machines: Cluster API creates machines without a failure domain when there is none. In the beginning
// it needs every zone to have been checked once, so that the first machines have the choice.
func summarize(cluster *infrav1.VSphereCluster, zones []placement.Zone, result distribution.Result) bool {
	unchecked := names(zones, func(z placement.Zone) bool { return z.Status.Ready == nil })
	switch {
	case len(zones) == 0:
		status.False(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsNoneSelectedReason, noneSelected(cluster, result))
		return false
	case len(unchecked) > 0 && !ptr.Deref(cluster.Status.Initialization.Provisioned, false):
		status.False(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason,
			"Waiting for VSphereDeploymentZones to be checked: "+strings.Join(unchecked, ", "))
		return false
	}
	conditions.Set(cluster, result.Condition())
	return !result.NoControlPlaneDomain
}

// noneSelected says how to select zones, and what happens until then.
func noneSelected(cluster *infrav1.VSphereCluster, result distribution.Result) string {
	message := fmt.Sprintf("spec.failureDomainSelector matches no VSphereDeploymentZone of server %s: label the zones or change the selector", cluster.Spec.Server)
	if cluster.Spec.FailureDomainSelector == nil {
		message = "spec.failureDomainSelector was removed, but a control plane that has failure domains keeps them: " +
			"set it again, or select a zone that describes where machines shall go"
	}
	if len(result.Domains) == 0 {
		return message
	}
	kept := make([]string, len(result.Domains))
	for i := range result.Domains {
		kept[i] = result.Domains[i].Name
	}
	return fmt.Sprintf("%s. Until then those that were the last for control planes stay published and receive no machines: %s", message, strings.Join(kept, ", "))
}

func names(zones []placement.Zone, which func(placement.Zone) bool) []string {
	var list []string
	for i := range zones {
		if which(zones[i]) {
			list = append(list, zones[i].Name)
		}
	}
	return list
}
