// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// observe reports the state of the virtual machine. The machine is provisioned once the virtual machine runs and has an address, and
// remains so.
func (r *Reconciler) observe(ctx context.Context, s *scope) (reconcile.Progress, error) {
	recorded := conditions.IsTrue(s.infra, infrav1.MachineCreatedCondition)
	if !recorded {
		status.True(s.infra, infrav1.MachineCreatedCondition, infrav1.MachineCreatedReason)
	}
	external := virtualmachine.ExternalState{Ran: s.provisioned(), HostNotReady: hostNotReady(s.hosts, s.vmi)}
	mayLack := s.vmi != nil && virtualmachine.MayLackVolumes(s.vmi)
	var again time.Duration
	if mayLack {
		var err error
		if external.Bound, again, err = s.claimsBound(ctx); err != nil {
			return reconcile.Wait, err
		}
	}
	o := virtualmachine.Observe(s.vm, s.vmi, external)
	if !s.vm.DeletionTimestamp.IsZero() {
		o.Running, o.Problem = false, virtualmachine.Problem{Reason: infrav1.VMNotRunningReason, Message: fmt.Sprintf(
			"VirtualMachine %s is being deleted in Harvester: delete the Machine", s.vmKey())}
	}
	s.startingUp = recorded && o.Problem == virtualmachine.Problem{}
	s.setProvisioningReady(o)
	s.setRunning(o)
	if found := virtualmachine.Addresses(o, s.wanted.Static, s.infraCluster.Spec.ControlPlaneEndpoint.Host); len(found) > 0 {
		s.infra.Status.Addresses = found
		if o.Running {
			s.infra.Status.Ready, s.infra.Status.Initialization.Provisioned = true, ptr.To(true)
		}
	}
	if mayLack && !external.Bound {
		return reconcile.Retry(again), nil // claims are not watched
	}
	return reconcile.Proceed, nil
}

// schedulingGrace is how long the scheduler may take to find a host after the last claim was bound. Until then, a missing host does not
// mean a lack of capacity.
const schedulingGrace = 3 * time.Second

// claimsBound reports whether the claims of the virtual machine's disks have been bound for long enough for kube-scheduler to act,
// and when to check again otherwise.
func (s *scope) claimsBound(ctx context.Context) (bool, time.Duration, error) {
	for _, name := range virtualmachine.Disks(s.vm) {
		claim, err := reconcile.Find(ctx, s.conn.Live(), client.ObjectKey{Namespace: s.vm.Namespace, Name: name}, &corev1.PersistentVolumeClaim{})
		switch {
		case err != nil:
			return false, 0, err
		case claim == nil || claim.Status.Phase != corev1.ClaimBound:
			return false, recheckInterval, nil
		case justBound(claim, time.Now()):
			return false, schedulingGrace, nil
		}
	}
	return true, 0, nil
}

// justBound reports whether the status of the claim was written within schedulingGrace before now. A later time comes from another clock
// and is ignored.
func justBound(claim *corev1.PersistentVolumeClaim, now time.Time) bool {
	return slices.ContainsFunc(claim.ManagedFields, func(written metav1.ManagedFieldsEntry) bool {
		if written.Subresource != "status" || written.Time == nil {
			return false
		}
		age := now.Sub(written.Time.Time)
		return age >= 0 && age < schedulingGrace
	})
}

func (s *scope) provisioned() bool {
	return ptr.Deref(s.infra.Status.Initialization.Provisioned, false)
}

// setProvisioningReady reports whether the virtual machine has its volumes and a host. Once it had both, the condition stays true unless
// the machine is unschedulable: setRunning reports whether it runs.
func (s *scope) setProvisioningReady(o virtualmachine.Observed) {
	const condition = infrav1.VMProvisioningReadyCondition
	switch problem := o.Problem; {
	case problem.Reason == infrav1.VMUnschedulableReason, problem.Reason == infrav1.VMProvisioningFailedReason && !o.Placed && !s.provisioned():
		status.False(s.infra, condition, problem.Reason, problem.Message)
	case o.Placed, s.provisioned():
		status.True(s.infra, condition, infrav1.VMProvisioningReadyReason)
	default:
		status.False(s.infra, condition, infrav1.VMProvisioningInProgressReason, fmt.Sprintf(
			"Waiting for VirtualMachine %s to get its volumes and a host%s", s.vmKey(), waitingNote(o)))
	}
}

func (s *scope) setRunning(o virtualmachine.Observed) {
	const condition = infrav1.VMRunningCondition
	switch problem := o.Problem; {
	case o.Running:
		status.True(s.infra, condition, infrav1.VMRunningReason)
	case problem.Reason == infrav1.VMHostUnreachableReason:
		unknown(s, condition, problem.Reason, problem.Message)
	case problem.Reason != "":
		status.False(s.infra, condition, problem.Reason, problem.Message)
	default:
		status.False(s.infra, condition, infrav1.VMNotRunningReason, fmt.Sprintf("VirtualMachine %s is not running %s%s", s.vmKey(), s.nowOrYet(), waitingNote(o)))
	}
}

// nowOrYet returns "now" or "yet", for the message of a virtual machine that is not running without a known problem.
func (s *scope) nowOrYet() string {
	if s.provisioned() {
		return "now"
	}
	return "yet"
}

// hostNotReady returns why the instance's host is not ready; "" if it is ready or the instance has no host.
func hostNotReady(hosts []placement.Host, vmi *kubevirtv1.VirtualMachineInstance) string {
	if vmi == nil {
		return ""
	}
	return placement.NotReady(hosts, vmi.Status.NodeName)
}

func waitingNote(o virtualmachine.Observed) string {
	if o.Waiting == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", o.Waiting)
}
