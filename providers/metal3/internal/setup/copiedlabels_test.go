// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/setup"
)

func TestCopiedLabels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prefixes []string
		host     map[string]string
		want     labels.Set
	}{
		"no prefix":                {host: map[string]string{"example.com/rack": "a"}, want: labels.Set{}},
		"one of several":           {[]string{"example.com"}, map[string]string{"example.com/rack": "a", "example.org/rack": "b", "plain": "c"}, labels.Set{"example.com/rack": "a"}},
		"the prefix is whole":      {[]string{"example.com"}, map[string]string{"sub.example.com/rack": "a", "example.com.au/rack": "b"}, labels.Set{}},
		"the host has none":        {[]string{"example.com"}, nil, labels.Set{}},
		"how Nodes are recognised": {[]string{"metal3.io"}, map[string]string{infrav1.NodeUUIDLabel: "no", "metal3.io/rack": "a"}, labels.Set{"metal3.io/rack": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(setup.CopiedLabels(tc.host, tc.prefixes).Set).To(Equal(tc.want))
		})
	}
}

func TestExclusivePrefixes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	owned := setup.CopiedLabels(nil, []string{"example.com", "topology.kubernetes.io", "metal3.io", "cluster.x-k8s.io"}).Owned
	g.Expect(owned("example.com/rack")).To(BeTrue())
	for _, key := range []string{"example.org/rack", "plain", "topology.kubernetes.io/zone", "metal3.io/rack", infrav1.NodeUUIDLabel, "cluster.x-k8s.io/x"} {
		g.Expect(owned(key)).To(BeFalse(), key)
	}
}
