// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"slices"
	"strings"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// operators returns the operators of label selectors.
func operators() []string {
	return []string{
		string(selection.In), string(selection.NotIn), string(selection.Exists), string(selection.DoesNotExist),
		string(selection.Equals), string(selection.DoubleEquals), string(selection.NotEquals),
		string(selection.GreaterThan), string(selection.LessThan),
	}
}

// validateHostSelector requires a selector that can be parsed.
func validateHostSelector(selector infrav1.HostSelector, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabels(selector.MatchLabels, path.Child("matchLabels"))
	for i, expression := range selector.MatchExpressions {
		errs = append(errs, validateExpression(expression, path.Child("matchExpressions").Index(i))...)
	}
	return errs
}

func validateExpression(expression infrav1.HostSelectorRequirement, path *field.Path) field.ErrorList {
	operator := strings.ToLower(expression.Operator)
	if !slices.Contains(operators(), operator) {
		return field.ErrorList{field.NotSupported(path.Child("operator"), expression.Operator, operators())}
	}
	if _, err := labels.NewRequirement(expression.Key, selection.Operator(operator), expression.Values); err != nil {
		return field.ErrorList{field.Invalid(path, expression.Key, fmt.Sprintf("must be a valid label requirement: %v", err))}
	}
	return nil
}
