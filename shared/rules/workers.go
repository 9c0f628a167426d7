// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Workers validates how workers are spread. topologyKeys lists the keys that the provider supports in addition to those of
// failure domains and of their published regions.
func Workers(workers faultlinev1.WorkersDistribution, path *field.Path, topologyKeys ...string) field.ErrorList {
	topologyKeys = append([]string{faultlinev1.TopologyKeyZone, corev1.LabelTopologyRegion}, topologyKeys...)
	if workers.TopologyKey == "" || slices.Contains(topologyKeys, workers.TopologyKey) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("topologyKey"), workers.TopologyKey, fmt.Sprintf(
		"must be %s with this provider: change it, or remove the field", strings.Join(topologyKeys, ", ")))}
}

// WarnWorkers returns warnings about settings for the spread of workers that are accepted but have no effect.
func WarnWorkers(workers faultlinev1.WorkersDistribution, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	enabled, required := workers.Enabled != nil && *workers.Enabled, workers.Required != nil && *workers.Required
	if !enabled {
		for name, given := range map[string]bool{
			"desiredFailureDomains": workers.DesiredFailureDomains != nil, "required": required,
			"rebalance": workers.Rebalance == faultlinev1.WorkersRebalanceDeleteOne,
		} {
			if given {
				warnings = append(warnings, Warning(path.Child(name), "has no effect while spec.distribution.workers.enabled is not true"))
			}
		}
		slices.Sort(warnings)
	} else if required && workers.DesiredFailureDomains == nil {
		warnings = append(warnings, Warning(path.Child("required"),
			"has no effect without desiredFailureDomains"))
	}
	return warnings
}
