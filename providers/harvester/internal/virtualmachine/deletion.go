// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// finalizerGrace is how long the deletion of a virtual machine may take before its remaining finalizers are reported.
const finalizerGrace = time.Minute

// snapshotFinalizer keeps a VirtualMachine while Harvester removes its snapshots.
const snapshotFinalizer = "VMController.CleanupPVCAndSnapshot"

// Deletion is a virtual machine that is being deleted. VM is nil if only its instance still exists, and VMI is nil without an instance.
type Deletion struct {
	VM  *kubevirtv1.VirtualMachine
	VMI *kubevirtv1.VirtualMachineInstance
	// HostNotReady is why the host of the instance is not ready; "" if it is ready or unknown.
	HostNotReady string
}

// WaitMessage returns what the deletion waits for and what the user can do; "" while the deletion takes its normal time. again is when to
// check again, 0 for never.
func (l Deletion) WaitMessage(now time.Time) (why string, again time.Duration) {
	if l.VMI != nil && l.VMI.Status.NodeName != "" && l.HostNotReady != "" {
		return fmt.Sprintf("its host %s is not ready (%s), and Harvester keeps the instance until the host is ready, is taken out of service "+
			"(setting vm-force-reset-policy) or is removed from Harvester; if the host is certainly powered off, force-delete the instance's Pod: "+
			"kubectl delete pod --namespace %s --selector %s=%s --force", l.VMI.Status.NodeName, l.HostNotReady,
			l.VMI.Namespace, kubevirtv1.CreatedByLabel, l.VMI.UID), 0
	}
	if again = finalizerGrace - now.Sub(l.since(now)); again > 0 {
		return "", again
	}
	return l.finalizersMessage(), 0
}

// since returns when the deletion of the virtual machine, or of its instance, began.
func (l Deletion) since(now time.Time) time.Time {
	var of metav1.Object = l.VM
	if l.VM == nil {
		of = l.VMI
	}
	if of.GetDeletionTimestamp() == nil {
		return now
	}
	return of.GetDeletionTimestamp().Time
}

// finalizersMessage describes the remaining finalizers: those of the instance while it exists, because the virtual machine waits for it.
func (l Deletion) finalizersMessage() string {
	if l.VMI != nil {
		return fmt.Sprintf("its instance is %s and has the finalizers %s: see its events, and those of its Pod, in Harvester",
			cmp.Or(string(l.VMI.Status.Phase), "not processed by virt-controller"), strings.Join(l.VMI.Finalizers, ", "))
	}
	if names := strings.Join(l.VM.Finalizers, ", "); strings.Contains(names, snapshotFinalizer) {
		return fmt.Sprintf("it has the finalizers %s, and Harvester cannot remove its snapshots: see Harvester's log, and remove its "+
			"VirtualMachineBackups of type snapshot", names)
	}
	return fmt.Sprintf("it has the finalizers %s: see the logs of the controllers that set them", strings.Join(l.VM.Finalizers, ", "))
}
