// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules"
)

func TestWorkersTopologyKey(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := field.NewPath("spec", "distribution", "workers")
	g.Expect(rules.Workers(faultlinev1.WorkersDistribution{}, path)).To(BeEmpty())
	g.Expect(rules.Workers(faultlinev1.WorkersDistribution{TopologyKey: faultlinev1.TopologyKeyZone}, path)).To(BeEmpty())
	g.Expect(rules.Workers(faultlinev1.WorkersDistribution{TopologyKey: "topology.kubernetes.io/region"}, path)).To(BeEmpty())
	hostname := faultlinev1.WorkersDistribution{TopologyKey: "kubernetes.io/hostname"}
	g.Expect(rules.Workers(hostname, path, "kubernetes.io/hostname")).To(BeEmpty())
	g.Expect(rules.Workers(hostname, path).ToAggregate()).To(MatchError(And(
		ContainSubstring("spec.distribution.workers.topologyKey"), ContainSubstring("must be topology.kubernetes.io/zone, topology.kubernetes.io/region with this provider: change it, or remove the field"))))
}

func TestWarnWorkers(t *testing.T) {
	t.Parallel()
	path := field.NewPath("workers")
	for name, tc := range map[string]struct {
		workers faultlinev1.WorkersDistribution
		want    []string
	}{
		"nothing":          {faultlinev1.WorkersDistribution{}, nil},
		"spread":           {faultlinev1.WorkersDistribution{Enabled: ptr.To(true), Rebalance: faultlinev1.WorkersRebalanceDeleteOne}, nil},
		"by default":       {faultlinev1.WorkersDistribution{Rebalance: faultlinev1.WorkersRebalanceOff, Required: ptr.To(false)}, nil},
		"all but spread":   {faultlinev1.WorkersDistribution{DesiredFailureDomains: ptr.To[int32](3), Required: ptr.To(true), Rebalance: faultlinev1.WorkersRebalanceDeleteOne}, []string{"workers.desiredFailureDomains", "workers.rebalance", "workers.required"}},
		"required of none": {faultlinev1.WorkersDistribution{Enabled: ptr.To(true), Required: ptr.To(true)}, []string{"workers.required"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			warnings := rules.WarnWorkers(tc.workers, path)
			g.Expect(warnings).To(HaveLen(len(tc.want)))
			for i, field := range tc.want {
				g.Expect(warnings[i]).To(HavePrefix(field + ": has no effect"))
			}
		})
	}
}
