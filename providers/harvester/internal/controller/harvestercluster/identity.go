// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// identify gives the cluster its id and stores it before anything is created on Harvester, because the cluster's objects are found
// by it. It reports false if the id belongs to another cluster, whose load balancer, pools and account this one would take over.
// The status keeps the id, so that it never changes. While something removes the id from the annotations, the only place that
// survives clusterctl move, nothing is created.
func (s *scope) identify(ctx context.Context) (bool, error) {
	controllerutil.RemoveFinalizer(s.cluster, infrav1.ClusterFinalizerLegacy)
	of, err := s.idOwner(ctx)
	if err != nil {
		return false, err
	}
	if of != "" {
		status.False(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.IDNotOursReason, fmt.Sprintf(
			"the id in the annotation %s belongs to HarvesterCluster %s, which this one was copied from: remove these annotations from this one and, if its "+
				"HarvesterClusterTemplate has them, from the template: %s",
			infrav1.ClusterIDAnnotation, of, strings.Join(owned.ClusterAnnotations(), ", ")))
		s.requeueAfter = reconcile.RefusedPause // the other cluster may be deleted
		return false, nil
	}
	id := s.cluster.ID()
	if id == "" {
		id = uuid.NewString()
	}
	annotate(s.cluster, infrav1.ClusterIDAnnotation, id)
	annotate(s.cluster, infrav1.IDOfAnnotation, infrav1.Owner(s.cluster.Namespace, s.cluster.Name))
	if err := s.recordRemoved(s.patch.StoreSpec(ctx, s.Client, s.cluster)); err != nil || s.cluster.Status.ID == id {
		return true, err
	}
	s.cluster.Status.ID = id
	return true, s.patch.Apply(ctx, s.Client, s.cluster)
}

// recordRemoved returns nil if the API server did not store what must be stored before anything is created. It records that for the
// condition.
func (s *scope) recordRemoved(err error) error {
	var removed *patch.RemovedError
	if !errors.As(err, &removed) {
		return err
	}
	s.removed = removed
	s.requeueAfter = reconcile.Earlier(s.requeueAfter, removed.Again()) // a policy change triggers no event
	return nil
}

// idOwner returns the name of the cluster that this one's id belongs to; "" if the id is its own.
func (s *scope) idOwner(ctx context.Context) (string, error) {
	id := s.cluster.Annotations[infrav1.ClusterIDAnnotation]
	if of, known := owned.IDOwner(s.cluster, id); known {
		return of, nil
	}
	list := &infrav1.HarvesterClusterList{}
	if err := s.Client.List(ctx, list); err != nil {
		return "", fmt.Errorf("listing HarvesterClusters: %w", err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.Annotations[infrav1.ClusterIDAnnotation] == id && owned.Precedes(other, s.cluster) {
			return infrav1.Owner(other.Namespace, other.Name), nil
		}
	}
	return "", nil
}
