// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/publish"
)

// publishDomains writes the state of every declared domain into the status, from where Cluster API takes it. It returns
// when to look again although nothing has happened: a grace or hold period ends.
func (r *Reconciler) publishDomains(ctx context.Context, s *scope) (time.Duration, error) {
	if len(s.cluster.Spec.FailureDomains) == 0 && !s.target(nil).ForControlPlanes() {
		r.Domains.Withdraw(s.target(nil))
		conditions.Delete(s.cluster, infrav1.Metal3ClusterFailureDomainsReadyCondition)
		s.domainsReady = true
		return 0, nil
	}
	all, err := hosts.List(ctx, r.Client, s.cluster.Namespace)
	if err != nil {
		return 0, err
	}
	waiting, err := r.waiting(ctx, s)
	if err != nil {
		return 0, err
	}
	result, err := r.Domains.Publish(ctx, s.target(waiting), placement.Observations(s.cluster, all))
	if err != nil {
		return 0, err
	}
	s.domainsReady = !result.NoControlPlaneDomain
	return result.NextCheck, r.summarize(ctx, s, result, all)
}

func (s *scope) target(waiting map[string]int) publish.Target {
	return publish.Target{
		Object: s.cluster, Cluster: s.owner.Name, Spec: s.cluster.Spec.Distribution,
		Domains: &s.cluster.Status.FailureDomains, Distribution: &s.cluster.Status.Distribution, Waiting: waiting,
	}
}

// waiting counts the machines that wait for a host, by reason.
func (r *Reconciler) waiting(ctx context.Context, s *scope) (map[string]int, error) {
	machines := &infrav1.Metal3MachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(s.cluster.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.owner.Name}); err != nil {
		return nil, fmt.Errorf("listing Metal3Machines of %s: %w", s.owner.Name, err)
	}
	reasons := map[string]int{}
	for i := range machines.Items {
		if reason := placement.WaitsFor(&machines.Items[i]); reason != "" {
			reasons[reason]++
		}
	}
	return reasons, nil
}

// summarize sets the condition FailureDomainsReady. Hosts with a label that means nothing are in its message, whatever the
// status: mostly the label or the cluster has a typing error.
func (r *Reconciler) summarize(ctx context.Context, s *scope, result distribution.Result, all []hosts.Host) error {
	clusters := &infrav1.Metal3ClusterList{}
	if err := r.Client.List(ctx, clusters, client.InNamespace(s.cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Metal3Clusters: %w", err)
	}
	condition := result.Condition()
	if message := placement.Unlabelled(s.cluster, all); message != "" && result.NoControlPlaneDomain {
		condition.Reason, condition.Message = infrav1.Metal3ClusterFailureDomainsWithoutHostsReason, message
	}
	condition.Message = strings.Trim(condition.Message+"\n"+placement.Undeclared(clusters.Items, all), "\n")
	conditions.Set(s.cluster, condition)
	return nil
}
