// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// connect gets the connection to the cluster's Harvester and sets its condition.
func (s *scope) connect(ctx context.Context) {
	target := harvester.TargetOf(s.cluster)
	get := s.Connections.Get
	if !s.cluster.DeletionTimestamp.IsZero() {
		get = s.Connections.GetToDelete
	}
	s.conn, s.problem = get(ctx, target, requester(client.ObjectKeyFromObject(s.cluster)))
	if s.conn != nil {
		s.problem = s.conn.Problem("", s.cluster.Spec.TargetNamespace)
	}
	condition := connectionReady(s.conn != nil, s.problem)
	if condition.Status == metav1.ConditionTrue {
		condition.Message = s.consentWarning(ctx, target)
	}
	conditions.Set(s.cluster, condition)
}

// consentWarning returns a warning if the cluster uses a Secret that does not allow it. The event is recorded once.
func (s *scope) consentWarning(ctx context.Context, target harvester.Target) string {
	problem := s.Connections.Unconsented(ctx, target)
	if problem == nil {
		return ""
	}
	message := problem.Message + "; a later release will reject it"
	if conditions.GetMessage(s.cluster, infrav1.HarvesterConnectionReadyCondition) != message {
		s.warn(problem.Reason, "%s", message)
		ctrl.LoggerFrom(ctx).Info("The Secret with Harvester's kubeconfig does not allow its use from this namespace", "secret", target.Identity)
	}
	return message
}

// connectionReady returns the connection's condition. It is Unknown while the connection is being established, and while cached
// objects may be stale.
func connectionReady(connected bool, problem *harvester.Problem) metav1.Condition {
	condition := metav1.Condition{
		Type: infrav1.HarvesterConnectionReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.HarvesterConnectionReadyReason,
	}
	if problem == nil {
		return condition
	}
	condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, problem.Reason, problem.Message
	if problem.Pending || connected && placement.MayBeStale(problem) {
		condition.Status = metav1.ConditionUnknown
	}
	return condition
}

// stale reports whether the view of Harvester is missing or may be outdated.
func (s *scope) stale() bool { return s.conn == nil || placement.MayBeStale(s.problem) }

// ignoreSyncing returns nil if the caches of Harvester's objects have not synced yet: the cluster is enqueued when they have.
func ignoreSyncing(err error) error {
	if errors.Is(err, harvester.ErrSyncing) {
		return nil
	}
	return err
}

// reportRejected sets a condition to False and returns nil if err is a response of Harvester that needs user action. The request
// is retried periodically, because no event reports a granted right or a webhook that accepts the object later. what names the
// object.
func (s *scope) reportRejected(err error, condition, reason, what string) error {
	if !reconcile.IsRejected(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.requeueAfter = reconcile.RefusedPause
	if problem := harvester.Denied(err); problem != nil {
		status.False(s.cluster, condition, problem.Reason, problem.Message)
		return nil //nolint:nilerr // the user reads it in the condition
	}
	status.False(s.cluster, condition, reason, fmt.Sprintf("Harvester rejected %s: %s: fix the cause that Harvester reports", what, statusMessage(err)))
	return nil
}

func statusMessage(err error) string {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return answer.Status().Message
	}
	return err.Error()
}
