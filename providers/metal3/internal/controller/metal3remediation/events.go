// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// Reasons of the events on a Metal3Remediation.
const (
	// StartedReason is used when an attempt starts.
	StartedReason = "RemediationStarted"
	// PoweringOffReason is used when the host is being powered off.
	PoweringOffReason = "PoweringOffHost"
	// PoweringOnReason is used when the host is being powered on.
	PoweringOnReason = "PoweringOnHost"
	// RestartingReason is used when a host that must not be powered off is being restarted.
	RestartingReason = "RestartingHost"
	// OutOfServiceReason is used when the Node is tainted so that Kubernetes moves its Pods.
	OutOfServiceReason = "NodeOutOfService"
	// NodeDeletedReason is used when the Node is deleted for the same purpose, because its Kubernetes version does not support
	// the taint.
	NodeDeletedReason = "NodeDeleted"
	// NotRestoredReason is used when the labels and annotations of a deleted Node are lost.
	NotRestoredReason = "NodeNotRestored"
	// RebootedReason is used when the host runs again.
	RebootedReason = "HostRebooted"
	// GivenUpReason is used when the Machine must be replaced.
	GivenUpReason = "RemediationGivenUp"
	// FailedReason is used when the host is powered off on purpose.
	FailedReason = "RemediationFailed"
)

// report emits the events of a step. They are events of the remediation, because its Machine belongs to Cluster API.
func (r *Reconciler) report(s *scope, next step) {
	switch next.act {
	case powerOff:
		r.event(s, PoweringOffReason, "Powering off BareMetalHost %s", s.host.Name)
	case powerOn:
		r.event(s, PoweringOnReason, "Powering on BareMetalHost %s", s.host.Name)
	case restart:
		r.event(s, RestartingReason, "Restarting BareMetalHost %s, which must not be powered off", s.host.Name)
	case fence:
		r.event(s, OutOfServiceReason, "Node %s is out of service until BareMetalHost %s is running again", s.node.Name, s.host.Name)
	case deleteNode:
		r.event(s, NodeDeletedReason, "Deleted Node %s until BareMetalHost %s is running again: Kubernetes %s has no other way to move its Pods",
			s.node.Name, s.host.Name, s.node.Status.NodeInfo.KubeletVersion)
	case finish:
		r.event(s, RebootedReason, "BareMetalHost %s is running again", s.host.Name)
	case replace:
		r.warn(s, GivenUpReason, "The Machine must be replaced by its owner after %d of %d reboots%s",
			s.remediation.Status.RetryCount, s.limit(), s.hostHint())
	}
	switch {
	case next.try:
		r.event(s, StartedReason, "Attempt %d of %d", s.remediation.Status.RetryCount, s.limit())
	case next.phase == infrav1.RemediationFailed:
		r.warn(s, FailedReason, "BareMetalHost %s must stay off because its spec.online is false: set it to true, or delete the Machine", s.host.Name)
	}
}

func (s *scope) limit() int32 {
	return orDefault(s.remediation.Spec.Strategy.RetryLimit, infrav1.DefaultRemediationRetryLimit)
}

func (s *scope) hostHint() string {
	if s.host == nil {
		return ": it has no BareMetalHost"
	}
	return "; BareMetalHost " + s.host.Name + " is not used again until the annotation " + infrav1.UnhealthyAnnotation + " is removed"
}

func (r *Reconciler) event(s *scope, reason, format string, args ...any) {
	r.Recorder.Eventf(s.remediation, nil, corev1.EventTypeNormal, reason, "Remediate", format, args...)
}

func (r *Reconciler) warn(s *scope, reason, format string, args ...any) {
	r.Recorder.Eventf(s.remediation, nil, corev1.EventTypeWarning, reason, "Remediate", format, args...)
}
