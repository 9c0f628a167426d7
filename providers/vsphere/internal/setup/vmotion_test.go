// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestMachineMovedByVMotionIsReportedOutsideFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	cluster := w.cluster("one")
	a, b := w.rack("a", ""), w.rack("b", "")
	machine := w.machine("one", "cp-0", a.Name)
	w.waitForProvisioned(machine)
	isIn := func(zone string) {
		integration.IsIn(w.user(), machine, func(m *infrav1.VSphereMachine) string { return ptr.Deref(m.Status.FailureDomain, "") }, zone)
	}
	isIn(a.Name)
	w.user().InPlace(w.metrics, cluster)

	w.Expect(w.vc.SetDRS("cluster-1", simulator.DRSOff)).To(Succeed()) // DRS would move it back
	w.Expect(w.vc.MoveVMToHost("cp-0", "host-b-1")).To(Succeed())
	isIn(b.Name)
	w.user().Elsewhere(w.metrics, cluster, "cp-0")

	w.Expect(w.vc.MoveVMToHost("cp-0", "host-a-2")).To(Succeed())
	isIn(a.Name)
	w.user().InPlace(w.metrics, cluster)
}
