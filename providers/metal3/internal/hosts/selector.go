// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// Selector parses spec.hostSelector. Operators are not case-sensitive.
func Selector(spec infrav1.HostSelector) (labels.Selector, error) {
	var requirements labels.Requirements
	for _, key := range slices.Sorted(maps.Keys(spec.MatchLabels)) {
		requirement, err := labels.NewRequirement(key, selection.Equals, []string{spec.MatchLabels[key]})
		if err != nil {
			return nil, fmt.Errorf("spec.hostSelector.matchLabels[%s]: %w", key, err)
		}
		requirements = append(requirements, *requirement)
	}
	for i, expression := range spec.MatchExpressions {
		requirement, err := labels.NewRequirement(expression.Key, selection.Operator(strings.ToLower(expression.Operator)), expression.Values)
		if err != nil {
			return nil, fmt.Errorf("spec.hostSelector.matchExpressions[%d]: %w", i, err)
		}
		requirements = append(requirements, *requirement)
	}
	return labels.NewSelector().Add(requirements...), nil
}
