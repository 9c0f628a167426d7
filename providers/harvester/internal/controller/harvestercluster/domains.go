// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/status"
)

// publishDomains writes the state of every failure domain into the status, where Cluster API reads it. It returns when to requeue without
// an event, which is when a grace or hold period ends.
func (s *scope) publishDomains(ctx context.Context) (time.Duration, error) {
	hosts, problem := s.hosts(ctx)
	seen := placement.Observe(s.cluster, hosts, problem)
	switch {
	case len(seen) == 0 && !s.domains.HasControlPlaneDomain():
		s.reportNoDomains(hosts, problem)
		return 0, nil
	case len(seen) > faultlinev1.MaxFailureDomains:
		s.domains.SetReady(tooManyDomains(s.cluster, len(seen)), s.domains.HasControlPlaneDomain())
		return 0, nil
	}
	result, err := publish.Publish(ctx, s.domains, seen, &infrav1.HarvesterMachine{}, placement.WaitsFor)
	if err != nil {
		return 0, err
	}
	condition := result.Condition()
	if problem == nil {
		condition.Message = s.withNotes(condition.Message, placement.Notes(s.cluster, hosts))
	}
	s.domains.SetReady(condition, !result.NoControlPlaneDomain)
	return result.NextCheck, nil
}

// hosts lists the hosts of the cluster's Harvester.
func (s *scope) hosts(ctx context.Context) ([]placement.Host, *harvester.Problem) {
	if s.conn == nil {
		return nil, s.problem
	}
	return placement.ReadHosts(ctx, s.conn)
}

// reportNoDomains lets machines be created without a failure domain once it is certain that the cluster has none.
func (s *scope) reportNoDomains(hosts []placement.Host, problem *harvester.Problem) {
	if problem != nil {
		s.domains.SetReady(metav1.Condition{
			Status: metav1.ConditionUnknown, Reason: faultlinev1.ReasonLookupFailed, Message: problem.Message,
		}, ptr.Deref(s.cluster.Status.Initialization.Provisioned, false))
		return
	}
	s.domains.Remove()
	conditions.Delete(s.cluster, faultlinev1.MachinesInPlaceCondition)
	s.domains.SetReady(metav1.Condition{
		Status: metav1.ConditionTrue, Reason: faultlinev1.ReasonNoFailureDomains, Message: strings.Join(placement.Notes(s.cluster, hosts), "\n"),
	}, true)
}

// withNotes appends notes to a message, and records an event if the note on domains with a single host is new.
func (s *scope) withNotes(message string, notes []string) string {
	previous := conditions.GetMessage(s.cluster, infrav1.FailureDomainsReadyCondition)
	for _, note := range notes {
		if strings.Contains(note, placement.SingleHost) && !strings.Contains(previous, note) {
			s.warn(infrav1.FailureDomainSingleHostReason, "%s", note)
		}
	}
	return strings.Trim(message+"\n"+strings.Join(notes, "\n"), "\n")
}

func tooManyDomains(cluster *infrav1.HarvesterCluster, found int) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: faultlinev1.ReasonTooManyFailureDomains, Message: fmt.Sprintf(
		"hosts of Harvester have %d values of the label %s, but a cluster can have at most %d failure domains: list those of the cluster in "+
			"spec.failureDomains, or set spec.failureDomainTopologyKey to a label with fewer values; until then the failure domains do not change",
		found, cluster.Spec.DiscoveryKey(), faultlinev1.MaxFailureDomains)}
}

// setProvisioned sets whether machines may be created. Once true, this never becomes false. complete reports whether everything
// that machines need exists.
func (s *scope) setProvisioned(complete bool) {
	if complete && s.domains.Ready() {
		s.cluster.Status.Initialization.Provisioned = ptr.To(true)
	}
	s.cluster.Status.Ready = ptr.Deref(s.cluster.Status.Initialization.Provisioned, false)
	if s.removed != nil {
		status.False(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.AnnotationsRemovedReason, "nothing is created on Harvester: "+s.removed.Error())
		return
	}
	if s.cluster.Status.Ready {
		status.True(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)
		return
	}
	waiting := slices.DeleteFunc(requiredConditions(s.cluster), func(condition string) bool { return conditions.IsTrue(s.cluster, condition) })
	status.False(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureProvisioningInProgressReason,
		"waiting for these conditions: "+strings.Join(waiting, ", "))
}

// requiredConditions lists the conditions that must be true before machines can be created.
func requiredConditions(cluster *infrav1.HarvesterCluster) []string {
	all := summarizedConditions(cluster)
	if cluster.Spec.ControlPlaneEndpoint.IsSet() { // machines can be created before the load balancer has a running machine
		all = slices.DeleteFunc(all, func(condition string) bool { return condition == lbReady })
	}
	return append(all, infrav1.FailureDomainsReadyCondition)
}

// summarizedConditions lists the conditions that Ready summarizes, except InfrastructureReady.
func summarizedConditions(cluster *infrav1.HarvesterCluster) []string {
	all := []string{infrav1.HarvesterConnectionReadyCondition, infrav1.TargetNamespaceReadyCondition, lbReady}
	for _, optional := range []string{infrav1.CustomIPPoolCreatedCondition, infrav1.VMIPPoolReadyCondition, infrav1.CloudProviderConfigReadyCondition} {
		if conditions.Has(cluster, optional) {
			all = append(all, optional)
		}
	}
	return all
}

func summarize(_ context.Context, s *scope) error {
	return s.domains.Summarize(append(summarizedConditions(s.cluster), infrav1.InfrastructureReadyCondition)...)
}
