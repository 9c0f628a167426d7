// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateNodeAffinity validates a node affinity.
func validateNodeAffinity(affinity corev1.NodeAffinity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		path := path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		if len(required.NodeSelectorTerms) == 0 {
			errs = append(errs, field.Required(path, "must have at least one term: add one, or remove the affinity"))
		}
		for i, term := range required.NodeSelectorTerms {
			errs = append(errs, validateNodeTerm(term, path.Index(i))...)
		}
	}
	for i, preferred := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		path := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		errs = append(errs, validateWeight(preferred.Weight, path.Child("weight"))...)
		errs = append(errs, validateNodeTerm(preferred.Preference, path.Child("preference"))...)
	}
	return errs
}

func validateNodeTerm(term corev1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, requirement := range term.MatchExpressions {
		path := path.Child("matchExpressions").Index(i)
		errs = append(errs, validateLabelKey(requirement.Key, path.Child("key"))...)
		errs = append(errs, validateOperator(requirement, path)...)
	}
	for i, requirement := range term.MatchFields {
		path := path.Child("matchFields").Index(i)
		if requirement.Key != metav1.ObjectNameField {
			errs = append(errs, field.Invalid(path.Child("key"), requirement.Key, "must be "+metav1.ObjectNameField))
		}
		if in := requirement.Operator; in != corev1.NodeSelectorOpIn && in != corev1.NodeSelectorOpNotIn || len(requirement.Values) != 1 {
			errs = append(errs, field.Invalid(path, requirement.Operator, "must be In or NotIn, with exactly one value"))
		}
	}
	return errs
}

func validateOperator(requirement corev1.NodeSelectorRequirement, path *field.Path) field.ErrorList {
	invalid := func(rule string) field.ErrorList {
		return field.ErrorList{field.Invalid(path.Child("values"), requirement.Values, rule+" with operator "+string(requirement.Operator))}
	}
	switch n := len(requirement.Values); requirement.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if n == 0 {
			return invalid("must have at least one value")
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if n > 0 {
			return invalid("must be empty")
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if n != 1 {
			return invalid("must have exactly one value")
		}
		if _, err := strconv.ParseInt(requirement.Values[0], 10, 64); err != nil {
			return invalid("must be an integer")
		}
	default:
		return field.ErrorList{field.NotSupported(path.Child("operator"), requirement.Operator, []corev1.NodeSelectorOperator{
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpGt,
			corev1.NodeSelectorOpIn, corev1.NodeSelectorOpLt, corev1.NodeSelectorOpNotIn,
		})}
	}
	return nil
}

// validatePodAffinity validates a Pod affinity.
func validatePodAffinity(affinity corev1.PodAffinity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, term := range affinity.RequiredDuringSchedulingIgnoredDuringExecution {
		errs = append(errs, validatePodTerm(term, path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))...)
	}
	for i, preferred := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		path := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		errs = append(errs, validateWeight(preferred.Weight, path.Child("weight"))...)
		errs = append(errs, validatePodTerm(preferred.PodAffinityTerm, path.Child("podAffinityTerm"))...)
	}
	return errs
}

func validatePodTerm(term corev1.PodAffinityTerm, path *field.Path) field.ErrorList {
	errs := validateLabelKey(term.TopologyKey, path.Child("topologyKey"))
	for name, selector := range map[string]*metav1.LabelSelector{"labelSelector": term.LabelSelector, "namespaceSelector": term.NamespaceSelector} {
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			errs = append(errs, field.Invalid(path.Child(name), metav1.FormatLabelSelector(selector), "must be a valid label selector: "+err.Error()))
		}
	}
	return errs
}

func validateWeight(weight int32, path *field.Path) field.ErrorList {
	if weight >= 1 && weight <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, weight, "must be between 1 and 100")}
}

// validateLabelKey validates a label's key.
func validateLabelKey(key string, path *field.Path) field.ErrorList {
	if len(validation.IsQualifiedName(key)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, key, "must be a valid label key, for example topology.kubernetes.io/zone")}
}
