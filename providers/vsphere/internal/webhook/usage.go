// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheredeploymentzones;vspherefailuredomains;vspheremachines,verbs=get;list;watch

const (
	// inUseAdvice is the advice for a change that machines prevent.
	inUseAdvice = "move them to another failure domain first, or create another failure domain"

	// pageSize bounds the memory needed to read all machines.
	pageSize = 500
)

// zonesOf returns the sorted names of the zones of a failure domain.
func zonesOf(ctx context.Context, reader client.Reader, domain string) ([]string, error) {
	var zones infrav1.VSphereDeploymentZoneList
	if err := reader.List(ctx, &zones); err != nil {
		return nil, fmt.Errorf("listing VSphereDeploymentZones: %w", err)
	}
	var names []string
	for i := range zones.Items {
		if zones.Items[i].Spec.FailureDomain == domain {
			names = append(names, zones.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// machinesIn returns the sorted namespace/name of the machines in any of the zones. Machines being deleted count, because their
// virtual machines still exist.
func machinesIn(ctx context.Context, reader client.Reader, zones ...string) ([]string, error) {
	if len(zones) == 0 {
		return nil, nil
	}
	var names []string
	for next, more := "", true; more; more = next != "" {
		var page clusterv1.MachineList
		if err := reader.List(ctx, &page, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing Machines: %w", err)
		}
		next = page.Continue
		for i := range page.Items {
			machine := &page.Items[i]
			if isVSphere(machine) && slices.Contains(zones, machine.Spec.FailureDomain) {
				names = append(names, client.ObjectKeyFromObject(machine).String())
			}
		}
	}
	assigned, err := assignedTo(ctx, reader, zones...)
	if err != nil {
		return nil, err
	}
	names = append(names, assigned...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// assignedTo returns namespace/name of the machines that name no zone but were assigned to one of these.
func assignedTo(ctx context.Context, reader client.Reader, zones ...string) ([]string, error) {
	var names []string
	for next, more := "", true; more; more = next != "" {
		var page infrav1.VSphereMachineList
		if err := reader.List(ctx, &page, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing VSphereMachines: %w", err)
		}
		next = page.Continue
		for i := range page.Items {
			if slices.Contains(zones, faultlinev1.Value(page.Items[i].Annotations, faultlinev1.AssignedFailureDomainAnnotation)) {
				names = append(names, page.Items[i].Machine().String())
			}
		}
	}
	return names, nil
}

// isVSphere reports whether a machine belongs to this provider. Failure domains of other providers may have the same names.
func isVSphere(machine *clusterv1.Machine) bool {
	ref := machine.Spec.InfrastructureRef
	return ref.APIGroup == infrav1.GroupVersion.Group && ref.Kind == "VSphereMachine"
}
