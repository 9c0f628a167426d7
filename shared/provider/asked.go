// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Asked is the failure domain that a machine belongs to: the one that its Machine names, else the one that its infrastructure
// machine was assigned; "" when it belongs to none. Every provider asks before it gives a machine a place, and gives it none as
// long as wait has a reason.
//
// A machine that belongs to no domain waits if it is a control plane's and its cluster has, or had, domains for control planes: it
// would be put anywhere, next to another one perhaps.
func Asked(cluster Cluster, machine *clusterv1.Machine, infra client.Object) (domain string, wait metav1.Condition) {
	domain = machine.Spec.FailureDomain
	if domain == "" {
		domain = infra.GetAnnotations()[faultlinev1.AssignedFailureDomainAnnotation]
	}
	_, known := cluster.Distribution()
	if domain != "" || !util.IsControlPlaneMachine(machine) || known.ControlPlaneNeedsDomain == nil || !*known.ControlPlaneNeedsDomain {
		return domain, metav1.Condition{}
	}
	return "", metav1.Condition{Reason: faultlinev1.ReasonFailureDomainNotNamed, Message: fmt.Sprintf(
		"control-plane Machine %s names no failure domain, although its cluster has some for control planes: "+
			"set spec.failureDomain of the Machine, or delete it, and its control plane makes one that names a domain", machine.Name)}
}
