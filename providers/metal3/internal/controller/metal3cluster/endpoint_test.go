// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3cluster

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func TestCheckEndpoint(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		endpoint infrav1.APIEndpoint
		ok       bool
	}{
		"whole":   {infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443}, true},
		"no host": {infrav1.APIEndpoint{Port: 6443}, false},
		"no port": {infrav1.APIEndpoint{Host: "10.0.0.1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cluster := &infrav1.Metal3Cluster{}
			cluster.Spec.ControlPlaneEndpoint = tc.endpoint
			g.Expect(checkEndpoint(cluster)).To(Equal(tc.ok))
			g.Expect(conditions.IsTrue(cluster, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition)).To(Equal(tc.ok))
		})
	}
}
