// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intent makes, from the state that somebody wants of failure domains, what is applied to the infrastructure cluster. Pure.
package intent

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Manager is the field manager of everything that kubectl fd writes.
const Manager = "kubectl-fd"

// Topology is the field manager of what a ClusterClass says. It takes back by force what somebody else writes into its fields.
const Topology = "capi-topology"

// Apply returns what is applied to an infrastructure cluster for failure domains to have states, by name: those, and the entries
// that were applied before, which would be removed if they were left out. It carries the resource version, so that an entry that
// somebody else has changed since is not written with its old state.
func Apply(infra *unstructured.Unstructured, states map[string]faultlinev1.DomainState) (*unstructured.Unstructured, error) {
	all, err := applied(infra)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, states)
	entries := make([]any, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, map[string]any{"name": name, "state": string(all[name])})
	}
	apply := &unstructured.Unstructured{Object: map[string]any{}}
	apply.SetAPIVersion(infra.GetAPIVersion())
	apply.SetKind(infra.GetKind())
	apply.SetNamespace(infra.GetNamespace())
	apply.SetName(infra.GetName())
	apply.SetResourceVersion(infra.GetResourceVersion())
	return apply, unstructured.SetNestedSlice(apply.Object, entries, "spec", "distribution", "failureDomains")
}

// applied returns the entries that Manager has applied and that are its own still, with their states.
func applied(infra *unstructured.Unstructured) (map[string]faultlinev1.DomainState, error) {
	found := map[string]faultlinev1.DomainState{}
	owned, err := ownedBy(infra, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
	})
	if err != nil {
		return nil, err
	}
	for name, state := range intents(infra) {
		if slices.Contains(owned[name], Manager) {
			found[name] = state
		}
	}
	return found, nil
}

// Owners returns the field managers of the state of a failure domain in spec.distribution but Manager, by name.
func Owners(infra *unstructured.Unstructured, domain string) []string {
	owned, err := ownedBy(infra, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager != Manager })
	if err != nil {
		return nil
	}
	slices.Sort(owned[domain])
	return slices.Compact(owned[domain])
}

// ownedBy returns who owns the state of each failure domain in spec.distribution, of the managers that the filter keeps.
func ownedBy(infra *unstructured.Unstructured, keep func(metav1.ManagedFieldsEntry) bool) (map[string][]string, error) {
	owners := map[string][]string{}
	for _, entry := range infra.GetManagedFields() {
		if entry.FieldsV1 == nil || !keep(entry) {
			continue
		}
		set := fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
			return nil, fmt.Errorf("reading what field manager %s owns: %w", entry.Manager, err)
		}
		for name := range intents(infra) {
			if set.Has(pathOf(name)) {
				owners[name] = append(owners[name], entry.Manager)
			}
		}
	}
	return owners, nil
}

// pathOf is where the state of a failure domain is.
func pathOf(domain string) fieldpath.Path {
	return fieldpath.MakePathOrDie("spec", "distribution", "failureDomains",
		&value.FieldList{{Name: "name", Value: value.NewValueInterface(domain)}}, "state")
}

// intents are the entries of spec.distribution.failureDomains.
func intents(infra *unstructured.Unstructured) map[string]faultlinev1.DomainState {
	entries, _, _ := unstructured.NestedSlice(infra.Object, "spec", "distribution", "failureDomains")
	states := make(map[string]faultlinev1.DomainState, len(entries))
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		name, _ := fields["name"].(string)
		state, _ := fields["state"].(string)
		states[name] = faultlinev1.DomainState(state)
	}
	return states
}

// Wanted is the state that spec.distribution asks of a failure domain.
func Wanted(infra *unstructured.Unstructured, domain string) faultlinev1.DomainState {
	return cmp.Or(intents(infra)[domain], faultlinev1.DomainActive)
}

// Domains returns the names of the failure domains in the status, in their order.
func Domains(infra *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(infra.Object, "status", "distribution", "failureDomains")
	var names []string
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		if name, _ := fields["name"].(string); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Status returns the status of a failure domain, or nil where the infrastructure cluster says nothing of it.
func Status(infra *unstructured.Unstructured, domain string) *faultlinev1.DomainStatus {
	entries, _, _ := unstructured.NestedSlice(infra.Object, "status", "distribution", "failureDomains")
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		if name, _ := fields["name"].(string); name == domain {
			text := func(field string) string {
				value, _ := fields[field].(string)
				return value
			}
			return &faultlinev1.DomainStatus{
				Name: domain, State: faultlinev1.DomainState(text("state")), Reason: text("reason"), Message: text("message"),
			}
		}
	}
	return nil
}
