// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
)

// The readiness of a zone is unknown after the zone was changed.
func TestReadyOfOlderGenerationIsIgnored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*placement.Zone)
		refused bool
	}{
		"checked as it is":                     {func(*placement.Zone) {}, false},
		"the zone was changed since":           {func(z *placement.Zone) { z.Generation++ }, true},
		"its failure domain was changed since": {func(z *placement.Zone) { z.Domain.Generation++ }, true},
		"it was never checked":                 {func(z *placement.Zone) { z.Status = infrav1.VSphereDeploymentZoneStatus{} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone := &placement.Zone{Domain: &infrav1.VSphereFailureDomain{}}
			zone.Name, zone.Generation, zone.Domain.Generation = "a", 3, 7
			zone.Status = infrav1.VSphereDeploymentZoneStatus{Ready: ptr.To(true), ObservedGeneration: 3, FailureDomainGeneration: 7}
			zone.Spec.Server = "vc.example.com"
			tc.change(zone)
			cluster := &infrav1.VSphereCluster{Spec: infrav1.VSphereClusterSpec{Server: zone.Spec.Server}}
			refused := mayReceive(cluster, zone, true).Reason != ""
			NewWithT(t).Expect(refused).To(Equal(tc.refused))
		})
	}
}
