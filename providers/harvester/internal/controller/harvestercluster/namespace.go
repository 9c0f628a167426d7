// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// reconcileNamespace creates the target namespace if it does not exist. It checks the namespace until it exists, and again after
// an object could not be created in it.
func (s *scope) reconcileNamespace(ctx context.Context) (bool, error) {
	const condition = infrav1.TargetNamespaceReadyCondition
	if conditions.IsTrue(s.cluster, condition) {
		return true, nil
	}
	name := s.cluster.Spec.TargetNamespace
	what := "namespace " + name + " of spec.targetNamespace"
	namespace, err := reconcile.Find(ctx, s.conn, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if harvester.Denied(err) != nil { // without this right, a missing namespace shows when objects are created in it
		status.True(s.cluster, condition, infrav1.TargetNamespaceReadyReason)
		return true, nil //nolint:nilerr // see above
	}
	if err == nil && namespace == nil {
		namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err = client.IgnoreAlreadyExists(s.conn.Create(ctx, namespace)); err == nil {
			s.record(infrav1.TargetNamespaceReadyReason, "Created namespace %s on Harvester", name)
		}
	}
	if err != nil {
		return false, s.reportRejected(err, condition, infrav1.TargetNamespaceNotReadyReason, what)
	}
	if !namespace.DeletionTimestamp.IsZero() {
		status.False(s.cluster, condition, infrav1.TargetNamespaceNotReadyReason, fmt.Sprintf("%s is being deleted: wait until it is deleted, and the controller creates it again", what))
		s.requeueAfter = recheckInterval
		return false, nil
	}
	status.True(s.cluster, condition, infrav1.TargetNamespaceReadyReason)
	return true, nil
}
