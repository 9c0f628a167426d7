// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"strings"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
)

// setProvisioned reports the progress of a virtual machine that is not provisioned yet or has a problem.
func setProvisioned(vm *infrav1.VSphereVM, reason, message string) {
	status.False(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, reason, message)
}

// fail reports a problem that needs the user's attention: in the condition, and once in an event.
func (r *Reconciler) fail(s *scope, reason, message string) {
	r.failAs(s, infrav1.VSphereVMVirtualMachineProvisionedCondition, reason, message)
}

func (r *Reconciler) failAs(s *scope, conditionType, reason, message string) {
	message = strings.ReplaceAll(message, "\n", "; ")
	before := conditions.Get(s.vm, conditionType)
	if before == nil || before.Reason != reason || before.Message != message {
		r.warn(s, reason, "Provision", "%s", message)
	}
	status.False(s.vm, conditionType, reason, message)
}

// setReady summarizes the conditions. A machine in service keeps running while vCenter is unavailable, so the availability of
// vCenter counts only while there is work to do there.
func setReady(vm *infrav1.VSphereVM) error {
	if vm.InService() {
		return status.Summarize(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)
	}
	return status.Summarize(vm, infrav1.VSphereVMVCenterAvailableCondition, infrav1.VSphereVMVirtualMachineProvisionedCondition)
}
