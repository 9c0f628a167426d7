// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestMachineReportsRelabelledHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 2))
	cluster := f.cluster("one", "rack-1", "rack-2")
	machine := f.machine("one", "cp-0", "rack-1")
	host := f.waitForProvisioned(machine)
	isIn := func(rack string) {
		integration.IsIn(f.user(), machine, func(m *infrav1.Metal3Machine) string { return m.Status.FailureDomain }, rack)
	}
	isIn("rack-1")
	f.user().InPlace(f.metrics, cluster)

	update(f, host, func(host *bmov1alpha1.BareMetalHost) { host.Labels[infrav1.FailureDomainLabel] = "rack-2" })
	isIn("rack-2")
	f.user().Elsewhere(f.metrics, cluster, "cp-0")

	update(f, host, func(host *bmov1alpha1.BareMetalHost) { host.Labels[infrav1.FailureDomainLabel] = "rack-1" })
	isIn("rack-1")
	f.user().InPlace(f.metrics, cluster)
}
