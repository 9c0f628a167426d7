// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

func TestAVirtualMachineThatVirtControllerHasNotProcessedWaitsForThat(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status kubevirtv1.VirtualMachinePrintableStatus
		vmi    *kubevirtv1.VirtualMachineInstance
		waits  bool
	}{
		"it has no status":                        {waits: true},
		"its instance has no phase":               {status: kubevirtv1.VirtualMachineStatusStarting, vmi: in(kubevirtv1.VmPhaseUnset, ""), waits: true},
		"its volumes are created":                 {status: kubevirtv1.VirtualMachineStatusProvisioning},
		"its instance is scheduled":               {status: kubevirtv1.VirtualMachineStatusStarting, vmi: in(kubevirtv1.Scheduling, "")},
		"its instance runs, and it has no status": {vmi: running()},
	} {
		vm := &kubevirtv1.VirtualMachine{}
		vm.Status.PrintableStatus = tc.status
		o := virtualmachine.Observe(vm, tc.vmi, virtualmachine.ExternalState{})
		g := NewWithT(t)
		g.Expect(o.Problem).To(BeZero(), name)
		if tc.waits {
			g.Expect(o.Waiting).To(ContainSubstring("see the Deployment virt-controller"), name)
		} else {
			g.Expect(o.Waiting).To(Equal(string(tc.status)), name)
		}
	}
}
