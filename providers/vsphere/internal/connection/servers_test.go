// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// A zone of another tenant must not decide to which vCenter, with which thumbprint, the cluster's account is sent.
func TestSessionForModulesUsesSelectedZonesIfAny(t *testing.T) {
	t.Parallel()
	const other = "other.example.com"
	for name, tc := range map[string]struct {
		tenants []string // of the zones on the server
		want    []string
	}{
		"one of two zones is selected":   {[]string{"two", "one"}, []string{"of one"}},
		"no zone is selected any longer": {[]string{"two"}, []string{"of two"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cluster := newCluster("one", "one", time.Hour)
			cluster.Spec.AdditionalServers = []string{other}
			d, opened := newDialer(t, cluster)
			opened.refused["one"] = vcenter.ErrUnauthorized
			for _, tenant := range tc.tenants {
				zone := newZone(tenant)
				zone.Name, zone.Spec.Server, zone.Spec.Thumbprint = tenant, other, "of "+tenant
				g.Expect(d.Client.(client.Client).Create(t.Context(), zone)).To(Succeed())
			}
			_, err := d.ForServer(t.Context(), cluster, other)
			g.Expect(err).To(MatchError(vcenter.ErrUnauthorized))
			var thumbprints []string
			for _, endpoint := range opened.requested {
				g.Expect(infrav1.SameServer(endpoint.Server, other)).To(BeTrue())
				thumbprints = append(thumbprints, endpoint.Thumbprint)
			}
			g.Expect(thumbprints).To(Equal(tc.want))
		})
	}
}
