// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
)

func TestPrefixes(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]struct {
		accepted []string
		refused  string
	}{
		"":                                  {nil, ""},
		" , ":                               {nil, ""},
		"b.example.com, a.example.com":      {[]string{"a.example.com", "b.example.com"}, ""},
		"a.example.com,a.example.com":       {[]string{"a.example.com"}, ""},
		"example.com/rack":                  {nil, "example.com/rack (is not a DNS subdomain)"},
		"*.example.com":                     {nil, "*.example.com (is not a DNS subdomain)"},
		"kubernetes.io":                     {nil, "kubernetes.io (is reserved to Kubernetes)"},
		"k8s.io,example.com":                {[]string{"example.com"}, "k8s.io (is reserved to Kubernetes)"},
		"node-role.kubernetes.io":           {nil, "node-role.kubernetes.io (is reserved to Kubernetes)"},
		"node-restriction.kubernetes.io":    {nil, "node-restriction.kubernetes.io (is reserved to Kubernetes)"},
		"a.k8s.io":                          {nil, "a.k8s.io (is reserved to Kubernetes)"},
		"notkubernetes.io,cluster.x-k8s.io": {[]string{"cluster.x-k8s.io", "notkubernetes.io"}, ""},
		"topology.kubernetes.io,node.kubernetes.io,kubelet.kubernetes.io": {
			[]string{"kubelet.kubernetes.io", "node.kubernetes.io", "topology.kubernetes.io"}, ""},
	} {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			accepted, refused := placement.LabelPrefixes(annotation)
			g.Expect(accepted).To(Equal(want.accepted))
			g.Expect(strings.Join(refused, ", ")).To(Equal(want.refused))
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	host := map[string]string{
		"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/a": "", "example.com/rack": "a", "k8s.io/b": "", "plain": "",
	}
	g.Expect(placement.RefusedLabels("example.com,node-role.kubernetes.io", host)).To(Equal([]string{"node-role.kubernetes.io/a", "node-role.kubernetes.io/worker"}))
	g.Expect(placement.RefusedLabels("example.com", host)).To(BeEmpty(), "the annotation selects no others")
	g.Expect(placement.RefusedLabels("", host)).To(BeEmpty())
	g.Expect(placement.RefusedLabels("kubernetes.io", host)).To(BeEmpty(), "the host has none")
}
