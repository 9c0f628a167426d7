// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// chooseDomain determines the failure domain and hosts of the virtual machine. A machine that names a failure domain is created in it, or
// waits.
func (r *Reconciler) chooseDomain(_ context.Context, s *scope) (reconcile.Progress, error) {
	if s.vm != nil {
		return reconcile.Proceed, nil
	}
	domain, wait := s.requestedDomain()
	switch why := s.identityWaitMessage(); {
	case why != "":
		wait = distribution.Refusal{Reason: infrav1.AnnotationsRemovedReason, Message: why}
	case s.infraCluster.ID() == "":
		wait = distribution.Refusal{Reason: infrav1.WaitingForClusterInfrastructureReadyReason, Message: "Waiting for the HarvesterCluster to get its id"}
	}
	if wait.Reason != "" {
		return r.hold(s, wait), nil
	}
	var topology placement.Topology
	if domain != "" {
		if wait = placement.MayReceive(s.infraCluster, domain); wait.Reason != "" {
			return r.hold(s, wait), nil
		}
		if topology, wait = placement.Resolve(s.infraCluster, s.hosts, domain); wait.Reason != "" {
			return r.hold(s, wait), nil
		}
	}
	if why := placement.Unsuited(s.infra.Spec.NodeAffinity, s.hosts, topology); why != "" {
		return r.hold(s, distribution.Refusal{Reason: infrav1.AffinityImpossibleReason, Message: why}), nil
	}
	controlPlane := util.IsControlPlaneMachine(s.machine)
	requirements, note := placement.RequirementsOf(s.infraCluster, s.hosts, s.infra, controlPlane, topology)
	s.note, s.wanted.ControlPlane = note, controlPlane
	s.wanted.Labels, s.wanted.Affinity = placement.Labels(requirements), placement.Affinity(requirements)
	return reconcile.Proceed, nil
}

// declaredDomain returns the cluster's declaration of the machine's failure domain; the zero value without one.
func (s *scope) declaredDomain() infrav1.HarvesterFailureDomain {
	domain, _ := s.requestedDomain()
	for i := range s.infraCluster.Spec.FailureDomains {
		if of := &s.infraCluster.Spec.FailureDomains[i]; of.Name == domain {
			return *of
		}
	}
	return infrav1.HarvesterFailureDomain{}
}

// reportFailureDomain reports the failure domain of the host that the machine runs on, as it may have been migrated. Without a host, or
// with an unknown one, the status keeps its last failure domain.
func (r *Reconciler) reportFailureDomain(_ context.Context, s *scope) (reconcile.Progress, error) {
	domain, _ := s.requestedDomain()
	s.reportUnlisted(domain)
	if s.vmi == nil || !slices.ContainsFunc(s.hosts, func(h placement.Host) bool { return h.Name == s.vmi.Status.NodeName }) {
		return reconcile.Proceed, nil
	}
	s.infra.Status.FailureDomain = placement.Observed(s.infraCluster, s.hosts, s.vmi.Status.NodeName, domain)
	return reconcile.Proceed, nil
}

// reportUnlisted reports that the machine names a failure domain that its cluster does not list. The machine stays in that domain.
func (s *scope) reportUnlisted(domain string) {
	const condition = infrav1.FailureDomainUnlistedCondition
	message := placement.Unlisted(s.infraCluster, s.hosts, domain)
	if message == "" {
		conditions.Delete(s.infra, condition)
		return
	}
	conditions.Set(s.infra, metav1.Condition{
		Type: condition, Status: metav1.ConditionTrue, Reason: infrav1.FailureDomainUnlistedReason, Message: message,
	})
}
