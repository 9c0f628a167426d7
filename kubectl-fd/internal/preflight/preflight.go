// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight reports what would change or stop if a provider of this project took over from the upstream one. It is pure:
// findings only depend on the listed objects.
package preflight

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Verdict is the consequence of a finding for the takeover.
type Verdict string

const (
	// Stops must be fixed before the takeover, which otherwise fails or does harm.
	Stops Verdict = "Stops"
	// Check may stop something, which a person must check.
	Check Verdict = "Check"
	// Changes is different after the takeover, and requires no action.
	Changes Verdict = "Changes"
)

// Finding is something that would change or stop.
type Finding struct {
	Verdict  Verdict `json:"verdict"`
	Provider string  `json:"provider"`
	// Rule is the name of the check.
	Rule string `json:"rule"`
	// Kind, Namespace and Name identify the object; Kind alone stands for several objects.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Field is the affected field of the object, "" for the object as a whole.
	Field string `json:"field,omitempty"`
	// Message describes the problem and how to fix it.
	Message string `json:"message"`
}

// Installation holds the listed objects of a management cluster.
type Installation struct {
	// CRDs are those of infrastructure providers.
	CRDs []unstructured.Unstructured
	// Providers are the entries of clusterctl's inventory; none if clusterctl was not used.
	Providers []unstructured.Unstructured
	// Deployments are those of Cluster API's providers, Leases are those in the namespaces of infrastructure providers.
	Deployments, Leases []unstructured.Unstructured
	// Objects maps kinds to objects: the provider's kinds, and the kinds in Provider.Related.
	Objects map[string][]unstructured.Unstructured
	// Machines are Cluster API's Machines, and Claims its IPAddressClaims.
	Machines, Claims []unstructured.Unstructured
}

// Examine reports what changes if the provider takes over the installation.
func Examine(provider Provider, in Installation) []Finding {
	e := &examination{Provider: provider, Installation: in}
	general := []func(*examination){versions, supervisor, managers}
	if provider.Standalone {
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

// Has reports whether anything of a provider's upstream is installed: a manager, its kinds, or an entry in clusterctl's
// inventory.
func (in Installation) Has(provider Provider) bool {
	belongs := func(object unstructured.Unstructured) bool {
		return object.GetLabels()[providerLabel] == provider.label()
	}
	return slices.ContainsFunc(in.Deployments, belongs) || slices.ContainsFunc(in.Providers, belongs) ||
		slices.ContainsFunc(in.CRDs, func(crd unstructured.Unstructured) bool {
			return text(&crd, "spec", "group") == provider.Group && slices.Contains(provider.Kinds, text(&crd, "spec", "names", "kind"))
		})
}

// Blocked reports whether a problem must be fixed before the takeover.
func Blocked(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Verdict == Stops })
}

// examination is the examination of an installation for one provider.
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

// ofAll adds a finding about a kind if there are objects of it.
func (e *examination) ofAll(kind string, verdict Verdict, rule, message string) {
	if len(e.Objects[kind]) > 0 {
		e.findings = append(e.findings, Finding{Verdict: verdict, Provider: e.Name, Rule: rule, Kind: kind, Message: message})
	}
}

// each calls look for every object of some kinds, and adds a finding with the message that it returns, if any.
func (e *examination) each(verdict Verdict, rule string, look func(*unstructured.Unstructured) string, kinds ...string) {
	for _, kind := range kinds {
		for i := range e.Objects[kind] {
			if message := look(&e.Objects[kind][i]); message != "" {
				e.about(&e.Objects[kind][i], verdict, rule, message)
			}
		}
	}
}

// text returns a string field, "" if it is not set.
func text(object *unstructured.Unstructured, fields ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, fields...)
	return value
}
