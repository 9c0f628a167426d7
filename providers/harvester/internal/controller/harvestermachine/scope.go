// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"time"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// newScope reads the machine's dependencies in the management cluster from the cache. It returns nil while the machine has no
// owner, unless the machine is being deleted, which does not need one.
func (r *Reconciler) newScope(ctx context.Context, infra *infrav1.HarvesterMachine, p *patch.Patch) (*scope, error) {
	of, leave, err := reconcile.OwnersOf(ctx, r.Client, infra, &infrav1.HarvesterCluster{})
	if err != nil || leave {
		return nil, err
	}
	s := &scope{infra: infra, patch: p, machine: of.Machine, cluster: of.Cluster, infraCluster: of.InfraCluster}
	if s.cluster == nil {
		s.infraCluster, err = reconcile.Orphaned[*infrav1.HarvesterCluster](ctx, r.Client, infra, &infrav1.HarvesterClusterList{})
	}
	return s, err
}

// requestedDomain returns the failure domain that the machine belongs to. If wait has a reason, the machine must wait until it belongs to
// one.
func (s *scope) requestedDomain() (domain string, wait distribution.Refusal) {
	cluster := s.infraCluster
	if cluster == nil {
		cluster = &infrav1.HarvesterCluster{}
	}
	domain, wait = provider.RequestedDomain(cluster, s.machine, s.infra, placement.Harvester{}.Location(s.infra))
	if domain == "" && wait.Reason == "" {
		domain = s.infra.Spec.FailureDomain
	}
	return domain, wait
}

// assignmentDelay returns how long a new machine may wait for a failure domain to be assigned.
func assignmentDelay(s *scope) time.Duration {
	_, wait := s.requestedDomain()
	return provider.AssignmentGrace(wait, s.infra, time.Now())
}
