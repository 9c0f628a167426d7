// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/status"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// publishDomains writes the state of every selected zone into the status, from where Cluster API takes it. It returns
// when to look again although nothing has happened: a grace or hold period ends.
func (r *Reconciler) publishDomains(ctx context.Context, s *scope) (time.Duration, error) {
	if s.cluster.Spec.FailureDomainSelector == nil {
		s.cluster.Status.FailureDomains = nil
		s.cluster.Status.Distribution = faultlinev1.DistributionStatus{}
		conditions.Delete(s.cluster, infrav1.VSphereClusterFailureDomainsReadyCondition)
		s.domainsReady = true
		return 0, nil
	}
	zones, err := placement.Zones(ctx, r.Client)
	if err != nil {
		return 0, err
	}
	selected := placement.Selected(s.cluster, zones)
	now := r.Clock.Now()
	result := distribution.Evaluate(distribution.Input{
		Spec: s.cluster.Spec.Distribution, Previous: previous(s.cluster, now),
		Observations: placement.Observations(selected), Now: now,
	})
	machines, err := r.machines(ctx, s)
	if err != nil {
		return 0, err
	}
	r.announce(s.cluster, result.Domains)
	s.cluster.Status.Distribution = result.Status(machines)
	s.cluster.Status.FailureDomains = result.Published
	s.domainsReady = summarize(s.cluster, selected, result)
	waiting, err := r.waiting(ctx, s)
	if err != nil {
		return 0, err
	}
	key := client.ObjectKey{Namespace: s.cluster.Namespace, Name: s.owner.Name}
	r.Metrics.Set(key, s.cluster.Status.Distribution, machines)
	r.Metrics.SetWaiting(key, waiting)
	return result.NextCheck, nil
}

// previous is the last evaluation. A cluster that was run by another provider has published domains without one.
func previous(cluster *infrav1.VSphereCluster, now time.Time) []faultlinev1.DomainStatus {
	if len(cluster.Status.Distribution.FailureDomains) == 0 {
		return distribution.Adopt(cluster.Status.FailureDomains, now)
	}
	return cluster.Status.Distribution.FailureDomains
}

// machines lists the cluster's machines as the planner sees them, by role.
func (r *Reconciler) machines(ctx context.Context, s *scope) ([]distribution.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.owner.Name}); err != nil {
		return nil, fmt.Errorf("listing Machines of %s: %w", s.owner.Name, err)
	}
	machines := make([]distribution.Machine, 0, len(list.Items))
	for i := range list.Items {
		machine := &list.Items[i]
		domain := machine.Status.FailureDomain
		if domain == "" {
			domain = machine.Spec.FailureDomain
		}
		machines = append(machines, distribution.Machine{Domain: domain, ControlPlane: util.IsControlPlaneMachine(machine)})
	}
	return machines, nil
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

// summarize sets the FailureDomainsReady condition and reports whether machines may be created. That needs every zone to
// have been checked once and one that takes control-plane machines: Cluster API creates machines without a failure
// domain when there is none.
func summarize(cluster *infrav1.VSphereCluster, zones []placement.Zone, result distribution.Result) bool {
	unchecked := names(zones, func(z placement.Zone) bool { return z.Status.Ready == nil })
	switch {
	case len(zones) == 0:
		status.False(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsNoneSelectedReason, fmt.Sprintf(
			"spec.failureDomainSelector matches no VSphereDeploymentZone of server %s: label the zones or change the selector", cluster.Spec.Server))
		return false
	case len(unchecked) > 0:
		status.False(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsWaitingForFailureDomainStatusReason,
			"Waiting for VSphereDeploymentZones to be checked: "+strings.Join(unchecked, ", "))
		return false
	}
	condition := result.Condition()
	if len(result.Undeclared) > 0 {
		condition.Message = strings.TrimPrefix(condition.Message+"\n"+fmt.Sprintf(
			"spec.distribution.failureDomains names what is no failure domain of this cluster: %s", strings.Join(result.Undeclared, ", ")), "\n")
	}
	conditions.Set(cluster, condition)
	return !result.NoControlPlaneDomain
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

// announce tells of every change of state.
func (r *Reconciler) announce(cluster *infrav1.VSphereCluster, domains []faultlinev1.DomainStatus) {
	before := map[string]faultlinev1.DomainState{}
	for _, domain := range cluster.Status.Distribution.FailureDomains {
		before[domain.Name] = domain.State
	}
	for i := range domains {
		domain := &domains[i]
		if before[domain.Name] == domain.State {
			continue
		}
		kind := corev1.EventTypeNormal
		if domain.State != faultlinev1.DomainActive {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(cluster, nil, kind, "FailureDomain"+string(domain.State), "Publish", "Failure domain %s is %s: %s", domain.Name, domain.State, domain.Message)
	}
}
