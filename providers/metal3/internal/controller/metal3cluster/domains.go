// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/publish"
)

// publishDomains writes the state of every declared failure domain to the status, from which Cluster API reads it. It returns the
// time after which to requeue without an event, when a grace or hold period ends.
func (r *Reconciler) publishDomains(ctx context.Context, s *scope) (time.Duration, error) {
	if len(s.cluster.Spec.FailureDomains) == 0 && !s.domains.HasControlPlaneDomain() {
		s.domains.Clear()
		return 0, nil
	}
	seen, all, err := r.Provider.Observe(ctx, s.cluster)
	if err != nil {
		return 0, err
	}
	result, err := publish.Publish(ctx, s.domains, seen, &infrav1.Metal3Machine{}, placement.WaitsFor)
	if err != nil {
		return 0, err
	}
	condition, err := r.domainsReady(ctx, s, result, all)
	s.domains.SetReady(condition, !result.NoControlPlaneDomain)
	return result.NextCheck, err
}

// domainsReady returns condition FailureDomainsReady. Its message always lists hosts labelled with an undeclared failure domain,
// because such a label, or the cluster, usually has a typo.
func (r *Reconciler) domainsReady(ctx context.Context, s *scope, result distribution.Result, all []hosts.Host) (metav1.Condition, error) {
	condition := result.Condition()
	clusters := &infrav1.Metal3ClusterList{}
	if err := r.Client.List(ctx, clusters, client.InNamespace(s.cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return condition, fmt.Errorf("listing Metal3Clusters: %w", err)
	}
	if message := placement.Unlabelled(s.cluster, all); message != "" && result.NoControlPlaneDomain {
		condition.Reason, condition.Message = infrav1.Metal3ClusterFailureDomainsWithoutHostsReason, message
	}
	condition.Message = strings.Trim(condition.Message+"\n"+placement.Undeclared(clusters.Items, all), "\n")
	return condition, nil
}
