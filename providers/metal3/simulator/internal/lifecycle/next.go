// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle decides what a simulated host does next, as the bare-metal operator would. It is pure: what it decides on
// is given to it, and others carry it out.
package lifecycle

import (
	"fmt"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Machine is what the hardware is doing, whatever the host's status says about it.
type Machine string

const (
	// Off has no power.
	Off Machine = "off"
	// Idle is powered on without an operating system of its user.
	Idle Machine = "idle"
	// Booted runs what was provisioned.
	Booted Machine = "booted"
)

// View is all that the next step of a host depends on. Nothing in it is modified.
type View struct {
	Host *bmov1alpha1.BareMetalHost
	// Secret is the version of the BMC's Secret, "" when there is none.
	Secret string
	// Recorded is what the host's HardwareData says, nil without one; Inventory is what an inspection finds.
	Recorded, Inventory *bmov1alpha1.HardwareDetails
	Machine             Machine
	// Started is the image that provisioning began with, "" when that is not known.
	Started string
	Fault   Fault
	// Due says that the work of the host's phase has taken its time.
	Due bool
	Now metav1.Time
}

// Fault is what is wrong with a host's BMC; the zero value is nothing.
type Fault struct {
	// Message makes every operation end with this error.
	Message string
	// Stuck makes the host stay in its state.
	Stuck bool
	// Dark says that the machine and its BMC have no power. The operator does nothing with the host, and only its condition Manageable
	// shows that.
	Dark bool
	// Off says that the machine is off, and that each attempt to switch it ends with the message.
	Off bool
	// Hung says that the operating system does not answer when it is asked to shut down.
	Hung bool
}

// Step is what happens next, in the order of the fields. The zero value is nothing until something changes.
type Step struct {
	// Machine is what to make of the hardware, "" to leave it alone. Booting a booted machine restarts it.
	Machine Machine
	// Erase empties the disk.
	Erase bool
	// Publish writes the new status's hardware to the HardwareData, Retract removes the HardwareData.
	Publish, Retract bool
	// Status replaces the host's.
	Status *bmov1alpha1.BareMetalHostStatus
	// Finalize and Release add and remove the finalizer; Drop names annotations to remove.
	Finalize, Release bool
	Drop              []string
	// Architecture is what to write into the spec, "" to leave it.
	Architecture string
	Events       []Happening
	// Wait says that nothing is left to do before the phase's work is over.
	Wait bool
}

// Happening becomes an event on the host.
type Happening struct{ Kind, Reason, Note string }

// Idle says that a step has nothing to do.
func (s Step) Idle() bool {
	return s.Machine == "" && s.Status == nil && !s.Retract && !s.Metadata()
}

// Metadata says that a step changes more of the host than its status.
func (s Step) Metadata() bool {
	return s.Finalize || s.Release || len(s.Drop) > 0 || s.Architecture != ""
}

func normal(reason, note string) Happening {
	return Happening{Kind: corev1.EventTypeNormal, Reason: reason, Note: note}
}

// Next decides the next step. Rules that hold in every state come before the state's own.
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

// manage decides what the operator does before it looks at the conditions.
func manage(v View) Step {
	for _, rule := range []func(View) (Step, bool){remove, detach, darken, authenticate} {
		if s, ok := rule(v); ok {
			return s
		}
	}
	return inState(v)
}

// inState dispatches to what a state does.
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

func (v View) state() bmov1alpha1.ProvisioningState { return v.Host.Status.Provisioning.State }

func (v View) deleting() bool { return !v.Host.DeletionTimestamp.IsZero() }

// edit starts a step with a changed copy of the status.
func (v View) edit(change func(*bmov1alpha1.BareMetalHostStatus)) Step {
	status := v.Host.Status.DeepCopy()
	change(status)
	status.LastUpdated = &v.Now
	return Step{Status: status}
}

// enter is edit for a new state. The operation that the state stands for starts now, the one before ends.
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

// Fail records an error, or the same one again.
func (v View) Fail(kind bmov1alpha1.ErrorType, message string) Step {
	s := v.edit(func(status *bmov1alpha1.BareMetalHostStatus) {
		status.OperationalStatus = bmov1alpha1.OperationalStatusError
		status.ErrorType, status.ErrorMessage = kind, message
		status.ErrorCount++
	})
	s.Events = []Happening{{Kind: corev1.EventTypeWarning, Reason: eventReason(kind), Note: message}}
	return s
}

// failing says whether a fault keeps an operation from succeeding. It fails again and again, ever more slowly.
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

// held is failing for an operation that takes time. One that has failed goes on at once when its fault has gone. Without power
// nothing goes on, and nothing fails: the operator asks for no change of a machine that its back end finds faulty.
func (v View) held(kind bmov1alpha1.ErrorType) (Step, bool) {
	if v.Fault.Dark {
		return v.untilNoticed(), true
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

// provisioningID is the identity that the operator's back end gives a host. It differs from the host's own.
func provisioningID(host *bmov1alpha1.BareMetalHost) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s/%s", host.Namespace, host.UID)).String()
}
