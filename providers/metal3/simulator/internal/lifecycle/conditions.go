// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// noAnswer is Ironic's error for a BMC that does not respond.
const noAnswer = "During sync_power_state, max retries exceeded: node state None does not match the expected state. Error: unable to reach the BMC"

// unreachable converts a loss of power into failing operations. It is for operations that access the BMC.
func (f Fault) unreachable() Fault {
	if f.Dark {
		return Fault{Message: noAnswer}
	}
	return f
}

// PowerFailure reports whether the condition of the host reports a loss of power.
func PowerFailure(host *bmov1alpha1.BareMetalHost) bool {
	found := meta.FindStatusCondition(host.Status.Conditions, bmov1alpha1.ManageableCondition)
	return found != nil && found.Status == metav1.ConditionFalse && found.Reason == bmov1alpha1.PowerFailureReason
}

// powerLossDetected reports whether the operator has detected the loss of power, which it does by polling.
func (v View) powerLossDetected() bool {
	return v.Fault.Dark && (v.Due || PowerFailure(v.Host))
}

func (v View) untilPowerLossDetected() Step { return Step{Wait: !v.powerLossDetected()} }

// withConditions adds the conditions that match the status. The operator also writes them if nothing else has changed.
func (v View) withConditions(s Step) Step {
	status := &v.Host.Status
	if s.Status != nil {
		status = s.Status
	}
	conditions := v.conditionsOf(status)
	switch {
	case s.Status != nil:
		s.Status.Conditions = conditions
	case s.Idle() && !reflect.DeepEqual(conditions, status.Conditions):
		return v.edit(func(status *bmov1alpha1.BareMetalHostStatus) { status.Conditions = conditions })
	}
	return s
}

// conditionValue is a condition without its transition time.
type conditionValue struct {
	kind   string
	status metav1.ConditionStatus
	reason string
}

func isTrue(kind, reason string) conditionValue {
	return conditionValue{kind, metav1.ConditionTrue, reason}
}
func isFalse(kind, reason string) conditionValue {
	return conditionValue{kind, metav1.ConditionFalse, reason}
}

// conditionsOf returns the conditions of a status. They keep their last transition time. A later verdict about a condition
// overrides an earlier one.
func (v View) conditionsOf(status *bmov1alpha1.BareMetalHostStatus) []metav1.Condition {
	verdicts := append(ofState(status), ofOperation(status)...)
	if v.powerLossDetected() && watchesPower(status) {
		verdicts = append(verdicts, isFalse(bmov1alpha1.ManageableCondition, bmov1alpha1.PowerFailureReason))
	}
	conditions := slices.Clone(status.Conditions)
	for i, next := range verdicts {
		overruled := func(later conditionValue) bool { return later.kind == next.kind }
		if slices.ContainsFunc(verdicts[i+1:], overruled) {
			continue
		}
		meta.SetStatusCondition(&conditions, metav1.Condition{Type: next.kind, Status: next.status, Reason: next.reason, LastTransitionTime: v.Now})
	}
	return conditions
}

// watchesPower reports whether the operator polls the power of the machine.
func watchesPower(status *bmov1alpha1.BareMetalHostStatus) bool {
	switch status.Provisioning.State {
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged, bmov1alpha1.StateRegistering, bmov1alpha1.StateDeleting:
		return false
	}
	return status.OperationalStatus != bmov1alpha1.OperationalStatusDetached
}

// ofState returns the conditions that follow from the state.
func ofState(status *bmov1alpha1.BareMetalHostStatus) []conditionValue {
	switch state := status.Provisioning.State; state {
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged:
		return notManaged(bmov1alpha1.NotManagedReason, isFalse(bmov1alpha1.ProgressingCondition, bmov1alpha1.NotProgressingReason))
	case bmov1alpha1.StateRegistering:
		reason := bmov1alpha1.RegisteringReason
		if status.OperationalStatus == bmov1alpha1.OperationalStatusError {
			reason = bmov1alpha1.RegistrationFailedReason
		}
		return notManaged(reason, isTrue(bmov1alpha1.ProgressingCondition, bmov1alpha1.RegisteringReason))
	case bmov1alpha1.StateReady, bmov1alpha1.StateAvailable:
		return []conditionValue{
			isTrue(bmov1alpha1.ManageableCondition, bmov1alpha1.ManageableReason),
			isTrue(bmov1alpha1.AvailableForProvisioningCondition, bmov1alpha1.AvailableReason),
			isFalse(bmov1alpha1.ProvisionedCondition, bmov1alpha1.NotProvisionedReason),
			isFalse(bmov1alpha1.ReadyCondition, bmov1alpha1.NotProvisionedReason),
			isFalse(bmov1alpha1.ProgressingCondition, bmov1alpha1.NotProgressingReason),
		}
	case bmov1alpha1.StateProvisioned, bmov1alpha1.StateExternallyProvisioned:
		return []conditionValue{
			isTrue(bmov1alpha1.ManageableCondition, bmov1alpha1.ManageableReason),
			isFalse(bmov1alpha1.AvailableForProvisioningCondition, bmov1alpha1.NotAvailableReason),
			isTrue(bmov1alpha1.ProvisionedCondition, bmov1alpha1.ProvisionedReason),
			isTrue(bmov1alpha1.ReadyCondition, bmov1alpha1.ProvisionedReason),
			isFalse(bmov1alpha1.ProgressingCondition, bmov1alpha1.NotProgressingReason),
		}
	default:
		return []conditionValue{
			isTrue(bmov1alpha1.ManageableCondition, bmov1alpha1.ManageableReason),
			isFalse(bmov1alpha1.AvailableForProvisioningCondition, bmov1alpha1.NotAvailableReason),
			isFalse(bmov1alpha1.ProvisionedCondition, bmov1alpha1.NotProvisionedReason),
			isFalse(bmov1alpha1.ReadyCondition, bmov1alpha1.NotProvisionedReason),
			isTrue(bmov1alpha1.ProgressingCondition, progressOf(state)),
		}
	}
}

func notManaged(reason string, progress conditionValue) []conditionValue {
	return []conditionValue{
		isFalse(bmov1alpha1.ManageableCondition, reason),
		isFalse(bmov1alpha1.AvailableForProvisioningCondition, bmov1alpha1.NotAvailableReason),
		isFalse(bmov1alpha1.ProvisionedCondition, bmov1alpha1.NotProvisionedReason),
		isFalse(bmov1alpha1.ReadyCondition, bmov1alpha1.NotProvisionedReason),
		progress,
	}
}

// progressOf returns the reason of condition Progressing in a transitional state.
func progressOf(state bmov1alpha1.ProvisioningState) string {
	switch state {
	case bmov1alpha1.StatePreparing:
		return bmov1alpha1.PreparingReason
	case bmov1alpha1.StateProvisioning:
		return bmov1alpha1.ProvisioningReason
	case bmov1alpha1.StateDeprovisioning:
		return bmov1alpha1.DeprovisioningReason
	case bmov1alpha1.StatePoweringOffBeforeDelete:
		return bmov1alpha1.PoweringOffBeforeDeleteReason
	case bmov1alpha1.StateDeleting:
		return bmov1alpha1.DeletingReason
	default:
		return bmov1alpha1.InspectingReason
	}
}

// ofOperation returns the conditions that follow from the operational status. The health reported by the BMC is always unknown.
func ofOperation(status *bmov1alpha1.BareMetalHostStatus) []conditionValue {
	verdicts := []conditionValue{{bmov1alpha1.HealthyCondition, metav1.ConditionUnknown, bmov1alpha1.UnknownHealthReason}}
	switch status.OperationalStatus {
	case bmov1alpha1.OperationalStatusError:
		verdicts = append(verdicts, isFalse(bmov1alpha1.ReadyCondition, bmov1alpha1.ErrorReason))
	case bmov1alpha1.OperationalStatusDetached:
		verdicts = append(verdicts, isFalse(bmov1alpha1.ReadyCondition, bmov1alpha1.DetachedReason),
			isFalse(bmov1alpha1.ProgressingCondition, bmov1alpha1.DetachedReason))
	}
	return verdicts
}
