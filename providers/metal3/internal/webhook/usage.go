// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch

// machinesByDomain returns the names of a cluster's machines, sorted, by the failure domains that they are in or are assigned to.
func machinesByDomain(ctx context.Context, reader client.Reader, cluster client.ObjectKey) (map[string][]string, error) {
	return rules.MachinesByDomain(ctx, reader, &infrav1.Metal3MachineList{}, cluster, domainsOf)
}

// domainsOf returns the failure domains that a machine is in and is assigned to.
func domainsOf(object client.Object) []string {
	machine, ok := object.(*infrav1.Metal3Machine)
	if !ok {
		return nil
	}
	return []string{machine.Status.FailureDomain, machine.Spec.FailureDomain}
}
