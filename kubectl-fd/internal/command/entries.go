// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// fieldManager is the field manager of all writes of kubectl fd.
const fieldManager = "kubectl-fd"

// topologyManager is the field manager of the topology controller, which applies a ClusterClass. It forces its values when
// another client changes its fields.
const topologyManager = "capi-topology"

// applyConfiguration returns the apply configuration of an infrastructure cluster that sets the states of failure domains, by
// name. It includes entries that were applied before, which would be removed otherwise. It contains the resourceVersion, so that
// an entry that another client has changed since is not written with its old state.
func applyConfiguration(infra *unstructured.Unstructured, states map[string]faultlinev1.DomainState) (*unstructured.Unstructured, error) {
	entries, err := applied(infra)
	if err != nil {
		return nil, err
	}
	for name, state := range states {
		entries[name] = map[string]any{"name": name, "state": string(state)}
	}
	list := make([]any, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		list = append(list, entries[name])
	}
	apply := &unstructured.Unstructured{Object: map[string]any{}}
	apply.SetAPIVersion(infra.GetAPIVersion())
	apply.SetKind(infra.GetKind())
	apply.SetNamespace(infra.GetNamespace())
	apply.SetName(infra.GetName())
	apply.SetResourceVersion(infra.GetResourceVersion())
	if len(list) == 0 {
		return apply, nil
	}
	return apply, unstructured.SetNestedSlice(apply.Object, list, "spec", "distribution", "failureDomains")
}

// record adds the annotation with the requests to an apply configuration. It contains the requests for other failure domains, and none for
// a failure domain whose state is set without a reason. It omits an annotation of another field manager, unless the user gives a reason.
func (w writer) record(apply, infra *unstructured.Unstructured, domains []string) error {
	ours, err := ownsAnnotation(infra)
	if err != nil || !ours && w.request == nil {
		return err
	}
	requests := report.Requests(infra.GetAnnotations())
	for _, domain := range domains {
		delete(requests, domain)
		if w.request != nil {
			requests[domain] = *w.request
		}
	}
	if len(requests) == 0 {
		return nil
	}
	value, err := json.Marshal(requests)
	apply.SetAnnotations(map[string]string{faultlinev1.StateReasonsAnnotation: string(value)})
	return err
}

// ownsAnnotation reports whether fieldManager has applied the annotation with the requests.
func ownsAnnotation(infra *unstructured.Unstructured) (bool, error) {
	for _, entry := range infra.GetManagedFields() {
		if entry.Manager != fieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		set, err := owned(entry)
		if err != nil || set.Has(fieldpath.MakePathOrDie("metadata", "annotations", faultlinev1.StateReasonsAnnotation)) {
			return err == nil, err
		}
	}
	return false, nil
}

// applied returns what fieldManager has applied and still owns, by failure domain. If another client has changed the state of an
// entry since, it only includes the name: without it the entry would be removed, and with the state fieldManager would own the
// state again.
func applied(infra *unstructured.Unstructured) (map[string]map[string]any, error) {
	entries := map[string]map[string]any{}
	for _, entry := range infra.GetManagedFields() {
		if entry.Manager != fieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		set, err := owned(entry)
		if err != nil {
			return nil, err
		}
		for name, state := range intents(infra) {
			if set.Has(pathOf(name)) {
				entries[name] = map[string]any{"name": name}
			}
			if set.Has(pathOf(name, "state")) {
				entries[name] = map[string]any{"name": name, "state": string(state)}
			}
		}
	}
	return entries, nil
}

// entryOwners returns the field managers, except fieldManager, that own the state of a failure domain in spec.distribution.
func entryOwners(infra *unstructured.Unstructured, domain string) []string {
	var owners []string
	for _, entry := range infra.GetManagedFields() {
		if entry.Manager == fieldManager {
			continue
		}
		if set, err := owned(entry); err == nil && set.Has(pathOf(domain, "state")) {
			owners = append(owners, entry.Manager)
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// owned returns the fields that a field manager owns.
func owned(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("reading the fields that field manager %s owns: %w", entry.Manager, err)
	}
	return set, nil
}

// pathOf returns the path of the entry of a failure domain, or of a field in it.
func pathOf(domain string, field ...any) fieldpath.Path {
	return fieldpath.MakePathOrDie(append([]any{"spec", "distribution", "failureDomains",
		&value.FieldList{{Name: "name", Value: value.NewValueInterface(domain)}}}, field...)...)
}

// intents returns the entries of spec.distribution.failureDomains.
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

// wantedState returns the state of a failure domain in spec.distribution.
func wantedState(infra *unstructured.Unstructured, domain string) faultlinev1.DomainState {
	return cmp.Or(intents(infra)[domain], faultlinev1.DomainActive)
}

// knownDomains returns the names of the failure domains in the status, in their order.
func knownDomains(infra *unstructured.Unstructured) []string {
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

// statusOf returns the status of a failure domain, or nil if the infrastructure cluster has none for it.
func statusOf(infra *unstructured.Unstructured, domain string) *faultlinev1.DomainStatus {
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
