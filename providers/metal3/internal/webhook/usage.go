// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch

const (
	// pageSize bounds the memory that reading all machines takes.
	pageSize = 500
)

// machinesByDomain returns the names of a cluster's machines, sorted, by the
// failure domains that they are in or are to be in. Machines that are being
// deleted count: until they are gone, they have their hosts.
func machinesByDomain(ctx context.Context, reader client.Reader, namespace, cluster string) (map[string][]string, error) {
	names := map[string][]string{}
	for next, more := "", true; more; more = next != "" {
		var page infrav1.Metal3MachineList
		if err := reader.List(ctx, &page, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster},
			client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing Metal3Machines: %w", err)
		}
		next = page.Continue
		for i := range page.Items {
			for _, domain := range domainsOf(&page.Items[i]) {
				names[domain] = append(names[domain], page.Items[i].Name)
			}
		}
	}
	for _, machines := range names {
		slices.Sort(machines)
	}
	return names, nil
}

// domainsOf returns where a machine is and where it is to be.
func domainsOf(machine *infrav1.Metal3Machine) []string {
	domains := []string{
		machine.Status.FailureDomain, machine.Spec.FailureDomain, machine.Annotations[faultlinev1.AssignedFailureDomainAnnotation],
	}
	slices.Sort(domains)
	return slices.DeleteFunc(slices.Compact(domains), func(domain string) bool { return domain == "" })
}
