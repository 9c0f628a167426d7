// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight says what would change or stop if a provider of this project took over from upstream's. Pure: what it finds
// depends on what was listed and on nothing else.
package preflight

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Verdict is what a finding means for the change.
type Verdict string

const (
	// Stops has to be put right before: without that the change fails, or harms.
	Stops Verdict = "Stops"
	// Check may stop something, which only a person can see.
	Check Verdict = "Check"
	// Changes is what will be different afterwards, and needs nothing.
	Changes Verdict = "Changes"
)

// Finding is one thing that would change or stop.
type Finding struct {
	Verdict  Verdict `json:"verdict"`
	Provider string  `json:"provider"`
	// Rule is what was looked at.
	Rule string `json:"rule"`
	// Kind, Namespace and Name are the object; Kind alone stands for several.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Field is the field of the object that it is about, "" for the object as a whole.
	Field string `json:"field,omitempty"`
	// Message is what it is, and the way out.
	Message string `json:"message"`
}

// Installation is what a management cluster has, as it was listed.
type Installation struct {
	// CRDs are those of infrastructure providers.
	CRDs []unstructured.Unstructured
	// Providers are clusterctl's inventory; none where clusterctl was not used.
	Providers []unstructured.Unstructured
	// Deployments are those that belong to a provider of Cluster API, Leases those in the namespaces of infrastructure providers.
	Deployments, Leases []unstructured.Unstructured
	// Objects are those of the provider's kinds, and of those beside them, by kind.
	Objects map[string][]unstructured.Unstructured
	// Machines are Cluster API's, and Claims those for addresses.
	Machines, Claims []unstructured.Unstructured
}

// Examine looks at an installation with the eyes of a provider.
func Examine(provider Provider, in Installation) []Finding {
	e := &examination{Provider: provider, Installation: in}
	general := []func(*examination){versions, supervisor, managers}
	if provider.Alone {
		general = nil
	}
	for _, rule := range slices.Concat(general, []func(*examination){storedVersions, contract, leases, managedFields, deletions}, provider.rules) {
		rule(e)
	}
	slices.SortStableFunc(e.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order(a.Verdict), order(b.Verdict)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Field, b.Field))
	})
	return e.findings
}

func order(v Verdict) int { return slices.Index([]Verdict{Stops, Check, Changes}, v) }

// Has tells whether there is something of a provider's upstream: a manager, its kinds, or an entry of clusterctl's.
func (in Installation) Has(provider Provider) bool {
	belongs := func(object unstructured.Unstructured) bool {
		return object.GetLabels()[providerLabel] == provider.label()
	}
	return slices.ContainsFunc(in.Deployments, belongs) || slices.ContainsFunc(in.Providers, belongs) ||
		slices.ContainsFunc(in.CRDs, func(crd unstructured.Unstructured) bool {
			return text(&crd, "spec", "group") == provider.Group && slices.Contains(provider.Kinds, text(&crd, "spec", "names", "kind"))
		})
}

// Blocked tells whether something has to be put right before.
func Blocked(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Verdict == Stops })
}

// examination is an installation that is being examined for a provider.
type examination struct {
	Provider
	Installation

	findings []Finding
}

// about adds a finding about an object.
func (e *examination) about(object *unstructured.Unstructured, verdict Verdict, rule, message string) {
	e.aboutField(object, "", verdict, rule, message)
}

// aboutField adds a finding about a field of an object.
func (e *examination) aboutField(object *unstructured.Unstructured, field string, verdict Verdict, rule, message string) {
	e.findings = append(e.findings, Finding{
		Verdict: verdict, Provider: e.Name, Rule: rule, Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Field: field, Message: message,
	})
}

// ofAll adds a finding about a kind, where there are objects of it.
func (e *examination) ofAll(kind string, verdict Verdict, rule, message string) {
	if len(e.Objects[kind]) > 0 {
		e.findings = append(e.findings, Finding{Verdict: verdict, Provider: e.Name, Rule: rule, Kind: kind, Message: message})
	}
}

// each looks at every object of some kinds; what is said about one is added.
func (e *examination) each(verdict Verdict, rule string, look func(*unstructured.Unstructured) string, kinds ...string) {
	for _, kind := range kinds {
		for i := range e.Objects[kind] {
			if message := look(&e.Objects[kind][i]); message != "" {
				e.about(&e.Objects[kind][i], verdict, rule, message)
			}
		}
	}
}

// text reads a string, "" where there is none.
func text(object *unstructured.Unstructured, fields ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, fields...)
	return value
}
