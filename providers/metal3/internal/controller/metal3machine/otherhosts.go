// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// reportOtherHosts reports other hosts that name the machine as their consumer. It does not change them, because what they run is
// unknown.
func (r *Reconciler) reportOtherHosts(_ context.Context, s *scope) (reconcile.Progress, error) {
	others := slices.DeleteFunc(r.Hosts.Inventory.HeldBy(s.key()), func(name string) bool { return name == s.host.Name })
	if len(others) == 0 {
		conditions.Delete(s.infra, infrav1.Metal3MachineSeveralHostsCondition)
		return reconcile.Proceed, nil
	}
	conditions.Set(s.infra, metav1.Condition{
		Type: infrav1.Metal3MachineSeveralHostsCondition, Status: metav1.ConditionTrue, Reason: infrav1.Metal3MachineSeveralHostsReason,
		Message: fmt.Sprintf("The machine uses BareMetalHost %s, but %s also names it in spec.consumerRef: "+
			"check what is running there, power it off and remove the field", s.host.Name, strings.Join(others, ", ")),
	})
	return reconcile.Proceed, nil
}
