// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheredeploymentzone

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

func TestEveryCheckOfAZoneHasAConditionAndItsReasonAWayOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	shown := map[string]bool{}
	reasons := map[vcenter.ZoneReason]bool{}
	waysOut, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "docs", "troubleshooting.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, check := range vcenter.ZoneChecks() {
		shown[check.Condition] = true
		g.Expect(reasons).NotTo(HaveKey(check.Reason), "two checks cannot be told apart")
		reasons[check.Reason] = true
		g.Expect(string(waysOut)).To(ContainSubstring("`"+string(check.Reason)+"`"), "docs/troubleshooting.md does not say what to do about it")
	}
	documented := map[string]bool{}
	for _, condition := range []string{
		infrav1.VSphereDeploymentZoneDatacenterReadyCondition, infrav1.VSphereDeploymentZoneComputeClusterReadyCondition,
		infrav1.VSphereDeploymentZoneResourcePoolReadyCondition, infrav1.VSphereDeploymentZoneFolderReadyCondition,
		infrav1.VSphereDeploymentZoneDatastoreReadyCondition, infrav1.VSphereDeploymentZoneNetworksReadyCondition,
		infrav1.VSphereDeploymentZoneTemplateReadyCondition, infrav1.VSphereDeploymentZoneRegionReadyCondition,
		infrav1.VSphereDeploymentZoneZoneReadyCondition, infrav1.VSphereDeploymentZoneHostsReadyCondition,
	} {
		documented[condition] = true
	}
	g.Expect(shown).To(Equal(documented))
}
