// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/text"
)

// maxMessage is the maximum length of a message in bytes.
const maxMessage = 4096

// report sets the condition on the infrastructure cluster, or removes it if there is nothing to protect. It only writes what
// differs from the cache.
func (r *Reconciler) report(ctx context.Context, o *observed) error {
	if o.infra == nil || o.Cluster.Leaving {
		return nil
	}
	p, before := patch.From(o.infra), conditions.Get(o.infra, faultlinev1.QuorumProtectedCondition).DeepCopy()
	p.SharedConditions = true
	if condition := protection(&o.Snapshot); condition != nil {
		condition.Type = faultlinev1.QuorumProtectedCondition
		condition.Message = text.Truncate(condition.Message, maxMessage)
		conditions.Set(o.infra, *condition)
	} else {
		conditions.Delete(o.infra, faultlinev1.QuorumProtectedCondition)
	}
	if err := p.Apply(ctx, r.Client, o.infra); err != nil {
		return err
	}
	if now := conditions.Get(o.infra, faultlinev1.QuorumProtectedCondition); now != nil && now.Reason == faultlinev1.ReasonAnnotationsRemoved &&
		(before == nil || before.Reason != now.Reason) {
		r.Recorder.Eventf(o.infra, nil, corev1.EventTypeWarning, now.Reason, "ProtectQuorum", "%s", now.Message)
	}
	return nil
}

// protection returns the condition that reports whether protectQuorum has the expected effect, and if not, why. It returns nil if
// protectQuorum is not set, or if there is no machine or no control plane to protect.
func protection(s *Snapshot) *metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, format string, args ...any) *metav1.Condition {
		return &metav1.Condition{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case !s.Wanted || s.Cluster.Leaving || len(s.Machines) == 0:
		return nil
	case s.Problem != "":
		return is(metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected, "%s", s.Problem)
	case s.Undone != "":
		return is(metav1.ConditionFalse, faultlinev1.ReasonAnnotationsRemoved, "%s", s.Undone)
	case s.ControlPlane.Name == "":
		return is(metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected,
			"Cluster %s names no control plane, so its machines are not protected: set spec.controlPlaneRef, or spec.distribution.controlPlane.protectQuorum to false", s.Cluster.Name)
	case s.ControlPlane.ProtectsQuorum:
		return is(metav1.ConditionTrue, faultlinev1.ReasonProtectedByControlPlane,
			"%s sets its own hook, so protectQuorum has no effect", s.ControlPlane.Name)
	case s.ControlPlane.Leaving:
		return nil
	}
	if without := s.without(); len(without) > 0 {
		return is(metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected, "%s: these machines do not wait for other machines, and other machines do not wait for them", strings.Join(without, "; "))
	}
	return is(metav1.ConditionTrue, faultlinev1.ReasonQuorumProtected, "")
}

// without lists the machines that never get the hook, with the reason. It omits those that are about to get it and those that
// were released.
func (s *Snapshot) without() []string {
	var without []string
	for i := range s.Machines {
		m := &s.Machines[i]
		if name, why := s.exempt(m); !m.deleting() && (name == notOfControlPlane || name == othersHook) {
			without = append(without, fmt.Sprintf("Machine %s is not protected, because %s", m.Name, why))
		}
	}
	return without
}
