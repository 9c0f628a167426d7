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

// alike reports whether an object is to its owner what it was before. KubeVirt notes a lot of a virtual machine that no owner reads: volumes,
// times of phases, what the guest agent tells now and then. A resync, by which a lost event is made good, is not alike.
func alike(was any, is client.Object) bool {
	former, ok := was.(client.Object)
	if !ok || former.GetResourceVersion() == is.GetResourceVersion() || former.GetUID() != is.GetUID() ||
		former.GetDeletionTimestamp().IsZero() != is.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(former.GetLabels(), is.GetLabels()) || !maps.Equal(former.GetAnnotations(), is.GetAnnotations()) {
		return false
	}
	switch is := is.(type) {
	case *kubevirtv1.VirtualMachine:
		was := former.(*kubevirtv1.VirtualMachine)
		return was.Generation == is.Generation && was.Status.PrintableStatus == is.Status.PrintableStatus &&
			slices.EqualFunc(was.Status.Conditions, is.Status.Conditions, func(a, b kubevirtv1.VirtualMachineCondition) bool {
				return a.Type == b.Type && a.Status == b.Status && a.Message == b.Message
			})
	case *kubevirtv1.VirtualMachineInstance:
		was, now := former.(*kubevirtv1.VirtualMachineInstance).Status, is.Status
		return was.Phase == now.Phase && was.Reason == now.Reason && was.NodeName == now.NodeName &&
			equality.Semantic.DeepEqual(was.Interfaces, now.Interfaces) &&
			slices.EqualFunc(was.Conditions, now.Conditions, func(a, b kubevirtv1.VirtualMachineInstanceCondition) bool {
				return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
			})
	default:
		return false
	}
}
