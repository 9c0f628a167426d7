// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle returns the next step of a simulated host, as the bare-metal operator would take it. It is pure: callers
// provide the input and execute the steps.
package lifecycle

import (
	"fmt"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Machine is the state of the hardware, whatever the host's status reports.
type Machine string

const (
	// Off is powered off.
	Off Machine = "off"
	// Idle is powered on without a provisioned operating system.
	Idle Machine = "idle"
	// Booted runs the provisioned image.
	Booted Machine = "booted"
)

// View holds everything that the next step of a host depends on. It is not modified.
type View struct {
	Host *bmov1alpha1.BareMetalHost
	// Secret is the resourceVersion of the BMC Secret; "" if it does not exist.
	Secret string
	// Recorded is the content of the HardwareData, or nil; Inventory is the result of an inspection.
	Recorded, Inventory *bmov1alpha1.HardwareDetails
	Machine             Machine
	// Started is the image that provisioning started with; "" if it is unknown.
	Started string
	Fault   Fault
	// Due is true when the delay of the host's phase is over.
	Due bool
	Now metav1.Time
}

// Fault is a fault of a host or its BMC; the zero value means no fault.
type Fault struct {
	// Message makes every operation fail with this error.
	Message string
	// Stuck keeps the host in its state.
	Stuck bool
	// Dark means that the machine and its BMC have no power. The operator stops working on the host, and only condition
	// Manageable shows it.
	Dark bool
	// Off means that the machine is powered off, and that each attempt to power it on fails with the message.
	Off bool
	// Hung means that the operating system ignores soft power off.
	Hung bool
}

// Step is executed in the order of its fields. The zero value means to wait for a change.
type Step struct {
	// Machine is the new state of the hardware; "" keeps it. Booting a booted machine restarts it.
	Machine Machine
	// Erase erases the disk.
	Erase bool
	// Publish writes the hardware details of the new status to the HardwareData; Retract deletes the HardwareData.
	Publish, Retract bool
	// Status replaces the host's status.
	Status *bmov1alpha1.BareMetalHostStatus
	// Finalize and Release add and remove the finalizer; Drop lists annotations to remove.
	Finalize, Release bool
	Drop              []string
	// Architecture is written to the spec; "" keeps it.
	Architecture string
	Events       []Event
	// Wait means that nothing is left to do until the delay of the phase is over.
	Wait bool
}

// Event is an event to emit for the host.
type Event struct{ Kind, Reason, Note string }

// Idle reports whether the step has nothing to do.
func (s Step) Idle() bool {
	return s.Machine == "" && s.Status == nil && !s.Retract && !s.Metadata()
}

// Metadata reports whether the step changes more of the host than its status.
func (s Step) Metadata() bool {
	return s.Finalize || s.Release || len(s.Drop) > 0 || s.Architecture != ""
}

func normal(reason, note string) Event {
	return Event{Kind: corev1.EventTypeNormal, Reason: reason, Note: note}
}

// Next returns the next step. Rules that apply in every state precede those of the state.
func Next(v View) Step {
	if _, paused := v.Host.Annotations[bmov1alpha1.PausedAnnotation]; paused {
		return Step{}
	}
	for _, rule := range []func(View) (Step, bool){restore, finalize, forgetBackup, recall, describe, fitArchitecture} {
		if s, ok := rule(v); ok {
			return s
		}
	}
	return v.withConditions(manage(v))
}

// manage applies the rules that precede the conditions.
func manage(v View) Step {
	for _, rule := range []func(View) (Step, bool){remove, detach, cutPower, authenticate} {
		if s, ok := rule(v); ok {
			return s
		}
	}
	return inState(v)
}

// inState dispatches to the rule of the state.
func inState(v View) Step {
	if v.Fault.Stuck {
		return Step{}
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
		return keepProvisioned(v)
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

func (v View) state() bmov1alpha1.ProvisioningState { return v.Host.Status.Provisioning.State }

func (v View) deleting() bool { return !v.Host.DeletionTimestamp.IsZero() }

// edit returns a step with a changed copy of the status.
func (v View) edit(change func(*bmov1alpha1.BareMetalHostStatus)) Step {
	status := v.Host.Status.DeepCopy()
	change(status)
	status.LastUpdated = &v.Now
	return Step{Status: status}
}

// enter is edit for a new state. It ends the operation metric of the old state and starts that of the new one.
func (v View) enter(state bmov1alpha1.ProvisioningState, change func(*bmov1alpha1.BareMetalHostStatus)) Step {
	return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		if metric := metricOf(status, v.state()); metric != nil {
			metric.End = v.Now
		}
		if metric := metricOf(status, state); metric != nil {
			*metric = bmov1alpha1.OperationMetric{Start: v.Now}
		}
		change(status)
		status.Provisioning.State = state
	})
}

// metricOf returns the operation metric of a state, or nil if the state is not an operation.
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

// clearError keeps the error count, which a successful operation resets.
func clearError(status *bmov1alpha1.BareMetalHostStatus) {
	status.ErrorType, status.ErrorMessage = "", ""
	status.OperationalStatus = bmov1alpha1.OperationalStatusOK
}

// succeed records the success of an operation.
func succeed(status *bmov1alpha1.BareMetalHostStatus) {
	clearError(status)
	status.ErrorCount = 0
}

// Fail records an error, or repeats the current one.
func (v View) Fail(kind bmov1alpha1.ErrorType, message string) Step {
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		status.OperationalStatus = bmov1alpha1.OperationalStatusError
		status.ErrorType, status.ErrorMessage = kind, message
		status.ErrorCount++
	})
	s.Events = []Event{{Kind: corev1.EventTypeWarning, Reason: eventReason(kind), Note: message}}
	return s
}

// failing reports whether a fault makes an operation fail. Retries fail with increasing backoff.
func (v View) failing(kind bmov1alpha1.ErrorType) (Step, bool) {
	switch {
	case v.Fault.Message == "":
		return Step{}, false
	case v.Fault.Off && (v.Due || v.Host.Status.ErrorMessage == ""):
		return v.Fail(bmov1alpha1.PowerManagementError, v.Fault.Message), true
	case v.Due:
		return v.Fail(kind, v.Fault.Message), true
	}
	return Step{Wait: true}, true
}

// held is failing for an operation that takes time. A failed operation continues at once when its fault is cleared. Without power
// nothing continues and nothing fails: the operator requests no change of a machine that Ironic considers faulty.
func (v View) held(kind bmov1alpha1.ErrorType) (Step, bool) {
	if v.Fault.Dark {
		return v.untilPowerLossDetected(), true
	}
	if s, failing := v.failing(kind); failing {
		return s, true
	}
	return Step{Wait: true}, !v.Due && v.Host.Status.ErrorMessage == ""
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

// provisioningID returns the ID of the host in Ironic. It differs from the UID of the host.
func provisioningID(host *bmov1alpha1.BareMetalHost) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s/%s", host.Namespace, host.UID)).String()
}
