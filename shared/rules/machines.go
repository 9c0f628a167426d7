// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// pageSize limits the memory for reading all machines.
const pageSize = 500

// MachinesByDomain returns the sorted names of a cluster's infrastructure machines, by their current or requested failure
// domains: those that domains returns for a machine, which may be empty or contain duplicates, and the assigned one. Machines
// that are being deleted are included, because they use their resources until they are deleted. list is an empty list of their
// kind.
func MachinesByDomain(
	ctx context.Context, reader client.Reader, list client.ObjectList, cluster client.ObjectKey, domains func(client.Object) []string,
) (map[string][]string, error) {
	names := map[string][]string{}
	for next, more := "", true; more; more = next != "" {
		page, ok := list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return nil, fmt.Errorf("listing infrastructure machines: %T is not a list", list)
		}
		if err := reader.List(ctx, page, client.InNamespace(cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name},
			client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing infrastructure machines: %w", err)
		}
		next = page.GetContinue()
		if err := meta.EachListItem(page, func(item runtime.Object) error {
			machine, ok := item.(client.Object)
			if !ok {
				return fmt.Errorf("listing infrastructure machines: %T is not an object", item)
			}
			for _, domain := range distinct(append(domains(machine), faultlinev1.Value(machine.GetAnnotations(), faultlinev1.AssignedFailureDomainAnnotation))) {
				names[domain] = append(names[domain], machine.GetName())
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for _, machines := range names {
		slices.Sort(machines)
	}
	return names, nil
}

// distinct returns the non-empty values without duplicates.
func distinct(domains []string) []string {
	slices.Sort(domains)
	return slices.DeleteFunc(slices.Compact(domains), func(domain string) bool { return domain == "" })
}

// ClusterName returns the name of the Cluster that owns an infrastructure cluster, or that its cluster name label names; "" if
// neither exists.
func ClusterName(cluster client.Object) string {
	for _, owner := range cluster.GetOwnerReferences() {
		if owner.Kind == "Cluster" && hasGroup(owner.APIVersion, clusterv1.GroupVersion.Group) {
			return owner.Name
		}
	}
	return cluster.GetLabels()[clusterv1.ClusterNameLabel]
}

// hasGroup reports whether an API version belongs to the group.
func hasGroup(apiVersion, group string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == group
}

// IsTopologyDryRun reports whether the admission request of the context is a dry run of the topology controller, which checks
// what would change in the object.
func IsTopologyDryRun(ctx context.Context, object client.Object) (bool, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return false, fmt.Errorf("reading the admission request: %w", err)
	}
	return topology.IsDryRunRequest(request, object), nil
}

// TemplateChanged returns an error for each field of the machine's spec in a template that has changed, except for the mutable
// ones. Dry runs of the topology controller, which check what would change, are accepted.
func TemplateChanged[T any](ctx context.Context, template client.Object, before, after *T, mutable ...string) (field.ErrorList, error) {
	dryRun, err := IsTopologyDryRun(ctx, template)
	if err != nil || dryRun {
		return nil, err
	}
	return Changed(before, after, field.NewPath("spec", "template", "spec"),
		"create another "+reflect.TypeOf(template).Elem().Name()+" and name it in the control plane or MachineDeployment", mutable...), nil
}
