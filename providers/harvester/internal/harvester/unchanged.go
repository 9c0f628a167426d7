// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unchanged reports whether an update changes nothing that the owner of the object reads. KubeVirt records a lot in a virtual
// machine that no owner reads: volumes, times of phases, periodic reports of the guest agent. Finalizers matter once the object is
// being deleted. It returns false for a resync, which makes up for a lost event.
func unchanged(was any, is client.Object) bool {
	former, ok := was.(client.Object)
	if !ok || former.GetResourceVersion() == is.GetResourceVersion() || !metadataUnchanged(former, is) {
		return false
	}
	switch is := is.(type) {
	case *kubevirtv1.VirtualMachine:
		return machineUnchanged(former.(*kubevirtv1.VirtualMachine), is)
	case *kubevirtv1.VirtualMachineInstance:
		return instanceUnchanged(former.(*kubevirtv1.VirtualMachineInstance), is)
	default:
		return false
	}
}

func metadataUnchanged(was, is client.Object) bool {
	deleted := !is.GetDeletionTimestamp().IsZero()
	return was.GetUID() == is.GetUID() && was.GetDeletionTimestamp().IsZero() == !deleted &&
		(!deleted || slices.Equal(was.GetFinalizers(), is.GetFinalizers())) &&
		maps.Equal(was.GetLabels(), is.GetLabels()) && maps.Equal(was.GetAnnotations(), is.GetAnnotations())
}

func machineUnchanged(was, is *kubevirtv1.VirtualMachine) bool {
	return was.Generation == is.Generation && was.Status.PrintableStatus == is.Status.PrintableStatus &&
		slices.EqualFunc(was.Status.Conditions, is.Status.Conditions, func(a, b kubevirtv1.VirtualMachineCondition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.Message == b.Message
		})
}

func instanceUnchanged(was, is *kubevirtv1.VirtualMachineInstance) bool {
	return was.Status.Phase == is.Status.Phase && was.Status.Reason == is.Status.Reason && was.Status.NodeName == is.Status.NodeName &&
		equality.Semantic.DeepEqual(was.Status.Interfaces, is.Status.Interfaces) &&
		slices.EqualFunc(was.Status.Conditions, is.Status.Conditions, func(a, b kubevirtv1.VirtualMachineInstanceCondition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
		})
}
