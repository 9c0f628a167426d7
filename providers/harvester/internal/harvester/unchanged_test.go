// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestUnchangedVirtualMachineDoesNotEnqueue(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "m", UID: "1", ResourceVersion: "1", Generation: 1, Labels: map[string]string{"a": "b"}}
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: meta}
	vm.Status.Conditions = []kubevirtv1.VirtualMachineCondition{{Type: kubevirtv1.VirtualMachineReady, Status: corev1.ConditionFalse}}
	vmi := &kubevirtv1.VirtualMachineInstance{ObjectMeta: meta}
	vmi.Status.Conditions = []kubevirtv1.VirtualMachineInstanceCondition{{Type: kubevirtv1.VirtualMachineInstanceReady, Status: corev1.ConditionFalse}}
	deleted := vm.DeepCopy()
	deleted.DeletionTimestamp, deleted.Finalizers = ptr.To(metav1.Now()), []string{"f", "g"}
	for name, tc := range map[string]struct {
		of       client.Object
		change   func(client.Object)
		enqueues bool
	}{
		"a resync":            {vm, func(o client.Object) { o.SetResourceVersion("1") }, true},
		"another of its name": {vm, func(o client.Object) { o.SetUID("2") }, true},
		"a label":             {vm, func(o client.Object) { o.SetLabels(map[string]string{"a": "c"}) }, true},
		"an annotation":       {vm, func(o client.Object) { o.SetAnnotations(map[string]string{"a": "c"}) }, true},
		"a finalizer":         {vm, func(o client.Object) { o.SetFinalizers([]string{"f"}) }, false},
		"a finalizer of one that is being deleted": {deleted, func(o client.Object) { o.SetFinalizers([]string{"f"}) }, true},
		"its deletion": {vmi, func(o client.Object) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }, true},
		"its spec":     {vm, func(o client.Object) { o.SetGeneration(2) }, true},
		"what is printed of it": {vm, func(o client.Object) {
			o.(*kubevirtv1.VirtualMachine).Status.PrintableStatus = kubevirtv1.VirtualMachineStatusPaused
		}, true},
		"what it says": {vm, func(o client.Object) { o.(*kubevirtv1.VirtualMachine).Status.Conditions[0].Message = "no" }, true},
		"when it was last looked at": {vm, func(o client.Object) {
			o.(*kubevirtv1.VirtualMachine).Status.Conditions[0].LastProbeTime = metav1.Now()
		}, false},
		"a snapshot of it": {vm, func(o client.Object) {
			o.(*kubevirtv1.VirtualMachine).Status.VolumeUpdateState = &kubevirtv1.VolumeUpdateState{}
		}, false},
		"its host":   {vmi, func(o client.Object) { o.(*kubevirtv1.VirtualMachineInstance).Status.NodeName = "h" }, true},
		"its phase":  {vmi, func(o client.Object) { o.(*kubevirtv1.VirtualMachineInstance).Status.Phase = kubevirtv1.Running }, true},
		"its reason": {vmi, func(o client.Object) { o.(*kubevirtv1.VirtualMachineInstance).Status.Reason = "NodeUnresponsive" }, true},
		"an address": {vmi, func(o client.Object) {
			o.(*kubevirtv1.VirtualMachineInstance).Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{{IP: "10.0.0.1"}}
		}, true},
		"whether it is ready": {vmi, func(o client.Object) {
			o.(*kubevirtv1.VirtualMachineInstance).Status.Conditions[0].Status = corev1.ConditionTrue
		}, true},
		"its volumes": {vmi, func(o client.Object) {
			o.(*kubevirtv1.VirtualMachineInstance).Status.VolumeStatus = []kubevirtv1.VolumeStatus{{Name: "disk-0"}}
		}, false},
		"when a phase began": {vmi, func(o client.Object) {
			o.(*kubevirtv1.VirtualMachineInstance).Status.PhaseTransitionTimestamps = []kubevirtv1.VirtualMachineInstancePhaseTransitionTimestamp{{}}
		}, false},
		"a Service, which is read as a whole": {&corev1.Service{ObjectMeta: meta}, func(client.Object) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			is := tc.of.DeepCopyObject().(client.Object)
			is.SetResourceVersion("2")
			tc.change(is)
			g.Expect(unchanged(tc.of, is)).To(Equal(!tc.enqueues))
			g.Expect(unchanged(nil, is)).To(BeFalse(), "it has come or gone")
		})
	}
}
