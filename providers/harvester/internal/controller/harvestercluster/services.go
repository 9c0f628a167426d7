// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
)

// recordWorkloadUID stores the UID of the workload cluster once it can be reached. The cloud provider writes the same UID on the
// load balancers of the cluster's Services, and the workload cluster no longer responds when they must be deleted. The status
// holds it, because a copy of the HarvesterCluster does not get the status.
func (s *scope) recordWorkloadUID(ctx context.Context) error {
	if s.cluster.Status.WorkloadClusterUID != "" {
		return nil
	}
	workload, err := s.Workloads.GetUncachedClient(ctx, client.ObjectKeyFromObject(s.owner))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return nil // the connection enqueues the cluster
	}
	if err != nil {
		return fmt.Errorf("connecting to the workload cluster: %w", err)
	}
	system := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := workload.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return fmt.Errorf("reading the UID of namespace %s of the workload cluster: %w", metav1.NamespaceSystem, err)
	}
	s.cluster.Status.WorkloadClusterUID = string(system.UID)
	return nil
}

// deleteServiceLoadBalancers deletes the load balancers of the cluster's Services. The cloud provider was deleted with the
// machines, and while the load balancers exist the next cluster of that name gets no address. Load balancers without the
// annotation may belong to another cluster and stay.
func (s *scope) deleteServiceLoadBalancers(ctx context.Context) (bool, error) {
	uid := s.cluster.Status.WorkloadClusterUID
	if uid == "" {
		return true, nil
	}
	list := &lbv1.LoadBalancerList{}
	if err := s.conn.List(ctx, list, client.InNamespace(s.cluster.Spec.TargetNamespace)); err != nil {
		return s.reportDeletionError(err, "listing load balancers of Services")
	}
	own := loadbalancer.OfServices(list.Items, uid)
	if len(own) == 0 {
		return true, nil
	}
	if other, err := s.clusterWithSameWorkload(ctx, uid); err != nil {
		return false, err
	} else if other != "" {
		s.warn(infrav1.LoadBalancersKeptReason, "%d load balancers of Services were left in namespace %s on Harvester: HarvesterCluster %s has the same workload cluster",
			len(own), s.cluster.Spec.TargetNamespace, other)
		return true, nil
	}
	all := true
	var errs []error
	for _, lb := range own {
		deleted, err := s.deleteObject(ctx, lb)
		all, errs = all && deleted, append(errs, err)
	}
	return all, errors.Join(errs...)
}

// clusterWithSameWorkload returns the name of another HarvesterCluster with the same workload cluster, such as a copy; "" without one.
func (s *scope) clusterWithSameWorkload(ctx context.Context, uid string) (string, error) {
	all := &infrav1.HarvesterClusterList{}
	if err := s.Client.List(ctx, all); err != nil {
		return "", fmt.Errorf("listing HarvesterClusters: %w", err)
	}
	for i := range all.Items {
		if other := &all.Items[i]; other.UID != s.cluster.UID && other.Status.WorkloadClusterUID == uid {
			return client.ObjectKeyFromObject(other).String(), nil
		}
	}
	return "", nil
}
