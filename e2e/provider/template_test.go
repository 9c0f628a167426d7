// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package provider

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestFlavorOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		of, file, flavor string
		ok               bool
		plain            string
	}{
		{"", "cluster-template.yaml", "", true, "cluster-template.yaml"},
		{"", "cluster-template-topology.yaml", "topology", true, "cluster-template-topology.yaml"},
		{"zones", "cluster-template-zones.yaml", "", true, "cluster-template.yaml"},
		{"zones", "cluster-template-zones-topology.yaml", "topology", true, "cluster-template-topology.yaml"},
		{"zones", "cluster-template.yaml", "", false, ""},
		{"zones", "cluster-template-ignition.yaml", "", false, ""},
		{"zones", "cluster-template-zonesless.yaml", "", false, ""},
		{"zones", "clusterclass-c.yaml", "", false, "clusterclass-c.yaml"},
	} {
		g := NewWithT(t)
		d := Description{Flavor: tc.of}
		flavor, ok := d.FlavorOf(tc.file)
		g.Expect(ok).To(Equal(tc.ok), tc.file)
		g.Expect(d.Plain(tc.file)).To(Equal(tc.plain), tc.file)
		if ok {
			g.Expect(flavor).To(Equal(tc.flavor))
			g.Expect(d.Template(flavor)).To(Equal(tc.file))
		}
	}
}
