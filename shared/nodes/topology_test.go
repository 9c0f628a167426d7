// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const region = corev1.LabelTopologyRegion

func TestTopologyLabels(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	published := []clusterv1.FailureDomain{
		{Name: "plain", Attributes: map[string]string{"freeHosts": "3"}},
		{Name: "described", Attributes: map[string]string{"zone": "zone-a", "region": "north"}},
		{Name: "impossible", Attributes: map[string]string{"zone": "not a label", "region": long}},
		{Name: long},
	}
	for name, tc := range map[string]struct {
		domain string
		before recorded
		want   labels.Set
	}{
		"no domain":                 {want: labels.Set{}},
		"no domain any more":        {before: recorded{"plain", labels.Set{zone: "plain"}}, want: labels.Set{}},
		"without attributes":        {domain: "plain", want: labels.Set{zone: "plain"}},
		"with attributes":           {domain: "described", want: labels.Set{zone: "zone-a", region: "north"}},
		"attributes no label has":   {domain: "impossible", want: labels.Set{zone: "impossible"}},
		"name no label has":         {domain: long, want: labels.Set{}},
		"not published":             {domain: "other", want: labels.Set{zone: "other"}},
		"moved to one without":      {domain: "plain", before: recorded{"described", labels.Set{zone: "zone-a", region: "north"}}, want: labels.Set{zone: "plain"}},
		"not published any more":    {domain: "gone", before: recorded{"gone", labels.Set{zone: "zone-g", region: "south"}}, want: labels.Set{zone: "zone-g", region: "south"}},
		"description gone":          {domain: "plain", before: recorded{"plain", labels.Set{zone: "zone-p"}}, want: labels.Set{zone: "zone-p"}},
		"described otherwise":       {domain: "described", before: recorded{"described", labels.Set{zone: "described"}}, want: labels.Set{zone: "zone-a", region: "north"}},
		"others' labels are theirs": {domain: "gone", before: recorded{"gone", labels.Set{}}, want: labels.Set{zone: "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(topology(published, tc.domain, tc.before)).To(Equal(tc.want))
		})
	}
}

func TestStrippedNode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	node := &corev1.Node{}
	node.Labels = map[string]string{zone: "rack-1"}
	node.Annotations = map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
	recorded{domain: "rack-1", labels: labels.Set{zone: "rack-1"}}.write(node)
	node.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}
	node.Spec.PodCIDR, node.Status.Images = "10.0.0.0/24", make([]corev1.ContainerImage, 50)
	whole := node.DeepCopy()
	StripNode(node)
	g.Expect(read(node)).To(Equal(read(whole)))
	g.Expect(Uninitialized(node)).To(BeTrue())
	g.Expect(node.Labels).To(Equal(whole.Labels))
	g.Expect(node.Annotations).To(HaveLen(2))
	g.Expect(node.Annotations).To(HaveKeyWithValue(faultlinev1.FailureDomainAnnotation, "rack-1"))
	g.Expect(node.Spec.PodCIDR).To(BeEmpty())
	g.Expect(node.Status).To(BeZero())
}
