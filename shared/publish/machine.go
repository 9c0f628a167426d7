// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Unnamed says why a machine that names no failure domain has to wait: it is a control plane's, and its cluster has, or
// had, domains for control planes. It would be put anywhere, next to another one perhaps. The condition's reason is ""
// when the machine need not wait. Every provider asks it before it gives a machine a place.
func Unnamed(machine *clusterv1.Machine, status faultlinev1.DistributionStatus) metav1.Condition {
	if machine.Spec.FailureDomain != "" || !util.IsControlPlaneMachine(machine) ||
		status.ControlPlaneNeedsDomain == nil || !*status.ControlPlaneNeedsDomain {
		return metav1.Condition{}
	}
	return metav1.Condition{Reason: faultlinev1.ReasonFailureDomainNotNamed, Message: fmt.Sprintf(
		"control-plane Machine %s names no failure domain, although its cluster has some for control planes: "+
			"set spec.failureDomain of the Machine, or delete it, and its control plane makes one that names a domain", machine.Name)}
}
