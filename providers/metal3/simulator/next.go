// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// machine is what the hardware is doing, whatever the host's status says about it.
type machine string

const (
	off machine = "off"
	// idle is powered on without an operating system of its user.
	idle machine = "idle"
	// booted runs what was provisioned.
	booted machine = "booted"
)

// view is all that the next step of a host depends on. Nothing in it is modified.
type view struct {
	host *bmov1alpha1.BareMetalHost
	// secret is the version of the BMC's Secret, "" when there is none.
	secret string
	// recorded is what the host's HardwareData says, nil without one; inventory is what an inspection finds.
	recorded, inventory *bmov1alpha1.HardwareDetails
	machine             machine
	// started is the image that provisioning began with, "" when that is not known.
	started string
	fault   fault
	// due says that the work of the host's phase has taken its time.
	due bool
	now metav1.Time
}

// fault is what is wrong with a host's BMC; the zero value is nothing.
type fault struct {
	// message makes every operation end with this error.
	message string
	// stuck makes the host stay in its state.
	stuck bool
	// dark says that the machine has lost its power as well.
	dark bool
	// hung says that the operating system does not answer when it is asked to shut down.
	hung bool
}

// step is what happens next, in the order of the fields. The zero value is nothing until something changes.
type step struct {
	// machine is what to make of the hardware, "" to leave it alone. Booting a booted machine restarts it.
	machine machine
	// erase empties the disk.
	erase bool
	// publish writes the new status's hardware to the HardwareData, retract removes the HardwareData.
	publish, retract bool
	// status replaces the host's.
	status *bmov1alpha1.BareMetalHostStatus
	// finalize and release add and remove the finalizer; drop names annotations to remove.
	finalize, release bool
	drop              []string
	events            []happening
	// wait says that nothing is left to do before the phase's work is over.
	wait bool
}

// happening becomes an event on the host.
type happening struct{ kind, reason, note string }

func normal(reason, note string) happening {
	return happening{kind: corev1.EventTypeNormal, reason: reason, note: note}
}

// next decides the next step. Rules that hold in every state come before the state's own.
func next(v view) step {
	if _, paused := v.host.Annotations[bmov1alpha1.PausedAnnotation]; paused {
		return step{}
	}
	for _, rule := range []func(view) (step, bool){
		restore, finalize, forgetBackup, recall, describe, remove, detach, darken, authenticate,
	} {
		if s, ok := rule(v); ok {
			return s
		}
	}
	return inState(v)
}

// inState dispatches to what a state does.
func inState(v view) step {
	if v.fault.stuck {
		return step{}
	}
	switch v.state() {
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged:
		return discover(v)
	case bmov1alpha1.StateRegistering:
		return register(v)
	case bmov1alpha1.StateInspecting:
		return inspect(v)
	case bmov1alpha1.StatePreparing, bmov1alpha1.StateMatchProfile:
		return prepare(v)
	case bmov1alpha1.StateAvailable, bmov1alpha1.StateReady:
		return offer(v)
	case bmov1alpha1.StateProvisioning:
		return provision(v)
	case bmov1alpha1.StateProvisioned:
		return keep(v)
	case bmov1alpha1.StateExternallyProvisioned:
		return keepExternal(v)
	case bmov1alpha1.StateDeprovisioning:
		return deprovision(v)
	case bmov1alpha1.StatePoweringOffBeforeDelete:
		return powerOffBeforeDelete(v)
	default:
		return finish(v)
	}
}

func (v view) state() bmov1alpha1.ProvisioningState { return v.host.Status.Provisioning.State }

func (v view) deleting() bool { return !v.host.DeletionTimestamp.IsZero() }

// edit starts a step with a changed copy of the status.
func (v view) edit(change func(*bmov1alpha1.BareMetalHostStatus)) step {
	status := v.host.Status.DeepCopy()
	change(status)
	status.LastUpdated = &v.now
	return step{status: status}
}

// enter is edit for a new state. The operation that the state stands for starts now, the one before ends.
func (v view) enter(state bmov1alpha1.ProvisioningState, change func(*bmov1alpha1.BareMetalHostStatus)) step {
	return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		if metric := metricOf(status, v.state()); metric != nil {
			metric.End = v.now
		}
		if metric := metricOf(status, state); metric != nil {
			*metric = bmov1alpha1.OperationMetric{Start: v.now}
		}
		change(status)
		status.Provisioning.State = state
	})
}

// metricOf finds the operation of a state in a status, nil for states that are none.
func metricOf(status *bmov1alpha1.BareMetalHostStatus, state bmov1alpha1.ProvisioningState) *bmov1alpha1.OperationMetric {
	switch state {
	case bmov1alpha1.StateRegistering:
		return &status.OperationHistory.Register
	case bmov1alpha1.StateInspecting:
		return &status.OperationHistory.Inspect
	case bmov1alpha1.StateProvisioning:
		return &status.OperationHistory.Provision
	case bmov1alpha1.StateDeprovisioning:
		return &status.OperationHistory.Deprovision
	default:
		return nil
	}
}

func nothing(*bmov1alpha1.BareMetalHostStatus) {}

// clearError leaves the count of failures, which an operation that succeeds sets to zero.
func clearError(status *bmov1alpha1.BareMetalHostStatus) {
	status.ErrorType, status.ErrorMessage = "", ""
	status.OperationalStatus = bmov1alpha1.OperationalStatusOK
}

// succeed ends an operation.
func succeed(status *bmov1alpha1.BareMetalHostStatus) {
	clearError(status)
	status.ErrorCount = 0
}

// fail records an error, or the same one again.
func (v view) fail(kind bmov1alpha1.ErrorType, message string) step {
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		status.OperationalStatus = bmov1alpha1.OperationalStatusError
		status.ErrorType, status.ErrorMessage = kind, message
		status.ErrorCount++
	})
	s.events = []happening{{kind: corev1.EventTypeWarning, reason: eventReason(kind), note: message}}
	return s
}

// failing says whether a fault keeps an operation from succeeding. It fails again and again, ever more slowly.
func (v view) failing(kind bmov1alpha1.ErrorType) (step, bool) {
	switch {
	case v.fault.message == "":
		return step{}, false
	case v.fault.dark && (v.due || v.host.Status.ErrorMessage == ""):
		return v.fail(bmov1alpha1.PowerManagementError, v.fault.message), true
	case v.due:
		return v.fail(kind, v.fault.message), true
	}
	return step{wait: true}, true
}

// held is failing for an operation that takes time. One that has failed goes on at once when its fault has gone.
func (v view) held(kind bmov1alpha1.ErrorType) (step, bool) {
	if s, failing := v.failing(kind); failing {
		return s, true
	}
	return step{wait: true}, !v.due && v.host.Status.ErrorMessage == ""
}

func eventReason(kind bmov1alpha1.ErrorType) string {
	switch kind {
	case bmov1alpha1.RegistrationError, bmov1alpha1.ProvisionedRegistrationError:
		return "RegistrationError"
	case bmov1alpha1.InspectionError:
		return "InspectionError"
	case bmov1alpha1.PreparationError:
		return "PreparationError"
	case bmov1alpha1.ProvisioningError:
		return "ProvisioningError"
	default:
		return "PowerManagementError"
	}
}

// provisioningID is the identity that the operator's back end gives a host. It differs from the host's own.
func provisioningID(host *bmov1alpha1.BareMetalHost) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s/%s", host.Namespace, host.UID)).String()
}
