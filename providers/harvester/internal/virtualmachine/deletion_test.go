// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

func TestDeletionWaitMessage(t *testing.T) {
	t.Parallel()
	now := time.Now()
	vm := func(ago time.Duration, finalizers ...string) *kubevirtv1.VirtualMachine {
		vm := &kubevirtv1.VirtualMachine{}
		vm.DeletionTimestamp, vm.Finalizers = ptr.To(metav1.NewTime(now.Add(-ago))), finalizers
		return vm
	}
	vmi := func(ago time.Duration) *kubevirtv1.VirtualMachineInstance {
		vmi := running()
		vmi.Namespace, vmi.UID = "ns", "uid-1"
		vmi.DeletionTimestamp, vmi.Finalizers = ptr.To(metav1.NewTime(now.Add(-ago))), []string{"foregroundDeleteVirtualMachine"}
		return vmi
	}
	const kubeVirts = "kubevirt.io/virtualMachineControllerFinalize"
	for name, tc := range map[string]struct {
		leaving  virtualmachine.Deletion
		messages []string
		again    time.Duration
	}{
		"its guest shuts down":    {virtualmachine.Deletion{VM: vm(time.Second, kubeVirts), VMI: vmi(time.Second)}, nil, 59 * time.Second},
		"it has only been marked": {virtualmachine.Deletion{VM: &kubevirtv1.VirtualMachine{}}, nil, time.Minute},
		"its host has no power, as is seen at once": {
			virtualmachine.Deletion{VM: vm(0, kubeVirts), VMI: vmi(0), HostNotReady: "Ready=Unknown"},
			[]string{"host h1 is not ready (Ready=Unknown)", "until the host is ready", "vm-force-reset-policy", "removed from Harvester",
				"certainly powered off", "kubectl delete pod --namespace ns --selector kubevirt.io/created-by=uid-1 --force"}, 0,
		},
		"its instance is left behind on a host without power": {
			virtualmachine.Deletion{VMI: vmi(0), HostNotReady: "Ready=Unknown"}, []string{"host h1 is not ready"}, 0,
		},
		"its guest does not shut down": {
			virtualmachine.Deletion{VM: vm(time.Minute, kubeVirts), VMI: vmi(time.Minute)}, []string{"instance is Running", "foregroundDeleteVirtualMachine"}, 0,
		},
		"its snapshots": {
			virtualmachine.Deletion{VM: vm(time.Hour, "wrangler.cattle.io/VMController.CleanupPVCAndSnapshot")},
			[]string{"wrangler.cattle.io/VMController.CleanupPVCAndSnapshot", "VirtualMachineBackups"}, 0,
		},
		"a foreign finalizer": {virtualmachine.Deletion{VM: vm(time.Hour, "a/b", "c/d")}, []string{"a/b, c/d"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			why, again := tc.leaving.WaitMessage(now)
			g.Expect(again).To(Equal(tc.again))
			if len(tc.messages) == 0 {
				g.Expect(why).To(BeEmpty())
			}
			for _, text := range tc.messages {
				g.Expect(why).To(ContainSubstring(text))
			}
		})
	}
}
