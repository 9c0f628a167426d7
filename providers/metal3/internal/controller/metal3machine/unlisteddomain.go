// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// reportUnlistedDomain reports that the machine names a failure domain which its cluster does not list. The machine still uses
// only hosts of that failure domain.
func (r *Reconciler) reportUnlistedDomain(_ context.Context, s *scope) (reconcile.Progress, error) {
	if s.infraCluster == nil {
		return reconcile.Proceed, nil
	}
	const condition, reason = infrav1.Metal3MachineFailureDomainUnlistedCondition, infrav1.FailureDomainUnlistedReason
	domain, _ := s.requestedDomain()
	message := placement.Unlisted(s.infraCluster, domain)
	if message == "" {
		conditions.Delete(s.infra, condition)
		return reconcile.Proceed, nil
	}
	if !conditions.Has(s.infra, condition) {
		r.warn(s, reason, "Associate", "%s", message)
	}
	conditions.Set(s.infra, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason, Message: message})
	return reconcile.Proceed, nil
}
