// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// recorded is what has been recorded on a Node: the failure domain, and the labels that come from its machine.
type recorded struct {
	domain string
	labels labels.Set
}

// topology returns the labels for the failure domain of a machine, from the published attributes of the domain. While the machine
// stays in its domain, a label whose attribute is no longer published is kept: a domain that is no longer selected, or that has
// lost its attributes, has not moved any machine, and volumes and spread constraints depend on the labels.
func topology(published []clusterv1.FailureDomain, domain string, before recorded) labels.Set {
	set := labels.Set{}
	if domain == "" {
		return set
	}
	attributes := attributesOf(published, domain)
	for key, attribute := range map[string]string{
		corev1.LabelTopologyZone: faultlinev1.ZoneAttribute, corev1.LabelTopologyRegion: faultlinev1.RegionAttribute,
	} {
		switch value := attributes[attribute]; {
		case isLabelValue(value):
			set[key] = value
		case before.domain == domain && before.labels.Has(key):
			set[key] = before.labels[key]
		}
	}
	if !set.Has(corev1.LabelTopologyZone) && isLabelValue(domain) {
		set[corev1.LabelTopologyZone] = domain
	}
	return set
}

func attributesOf(published []clusterv1.FailureDomain, domain string) map[string]string {
	for i := range published {
		if published[i].Name == domain {
			return published[i].Attributes
		}
	}
	return nil
}

func isLabelValue(value string) bool {
	return value != "" && len(validation.IsValidLabelValue(value)) == 0
}
