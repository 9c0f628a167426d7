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

// told is what a Node has been told of its place: the failure domain, and the labels that are there because of its machine.
type told struct {
	domain string
	labels labels.Set
}

// topology returns the labels that stand for the failure domain that a machine is in. What is published of the domain decides. As
// long as the machine stays where it is, a label that nothing is published for any more stays too: a domain that is no longer
// selected, or whose description is gone, has moved no machine, and volumes and spread constraints depend on the labels.
func topology(published []clusterv1.FailureDomain, domain string, before told) labels.Set {
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
