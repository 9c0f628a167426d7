// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// reconcileDelete waits for the machines to be deleted, then deletes the cluster's objects on Harvester and no others.
func reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	names, err := reconcile.Remaining(ctx, s.Client, s.cluster, map[string]client.ObjectList{
		"HarvesterMachine": &infrav1.HarvesterMachineList{}, "Machine": &clusterv1.MachineList{},
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := s.recordWorkloadUID(ctx); err != nil { // deletion continues without it
		ctrl.LoggerFrom(ctx).Info("Load balancers of the cluster's Services may remain on Harvester", "reason", err.Error())
	}
	if len(names) > 0 {
		status.False(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.WaitingForMachinesReason,
			fmt.Sprintf("Waiting for %d objects to be deleted: %s", len(names), strings.Join(names[:min(5, len(names))], ", ")))
		return ctrl.Result{}, nil
	}
	deleted, err := s.deleteObjects(ctx)
	if err != nil || !deleted {
		return ctrl.Result{RequeueAfter: s.requeueAfter}, ignoreSyncing(err)
	}
	s.domains.Remove()
	s.Connections.Forget(requester(client.ObjectKeyFromObject(s.cluster)))
	controllerutil.RemoveFinalizer(s.cluster, infrav1.ClusterFinalizer)
	controllerutil.RemoveFinalizer(s.cluster, infrav1.ClusterFinalizerLegacy)
	return ctrl.Result{}, nil
}

// deleteObjects reports whether the cluster has no objects on Harvester any more, or the user allowed them to stay.
func (s *scope) deleteObjects(ctx context.Context) (bool, error) {
	if s.cluster.ID() == "" {
		return true, nil // nothing is created before the cluster has an id
	}
	s.connect(ctx)
	if s.stale() {
		// Nothing is created for a copy of another cluster, except by earlier releases: that is removed if Harvester can be reached.
		if of, err := s.idOwner(ctx); err != nil || of != "" && !s.problem.Pending {
			return of != "", err
		}
		return s.canDeleteWithoutHarvester(), nil
	}
	steps := []func(context.Context) (bool, error){s.deleteServiceLoadBalancers, s.deleteLoadBalancer, s.deletePools, s.deleteCloudProviderAccount}
	for _, step := range steps {
		if deleted, err := step(ctx); err != nil || !deleted {
			return false, err
		}
	}
	return true, nil
}

// canDeleteWithoutHarvester reports whether the cluster can be deleted although Harvester is unreachable.
func (s *scope) canDeleteWithoutHarvester() bool {
	leftovers := s.possibleLeftovers()
	_, abandoned := faultlinev1.Lookup(s.cluster.Annotations, infrav1.AbandonAnnotation)
	switch {
	case s.problem.Pending: // status can be incomplete after a clusterctl move
		status.False(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.DeletingReason, "waiting for the connection to Harvester: "+s.problem.Message)
		return false
	case len(leftovers) == 0:
		return true
	case abandoned:
		s.warn(infrav1.DeletionBlockedReason, "Left on Harvester because of the annotation %s, as far as they exist: %s", infrav1.AbandonAnnotation, strings.Join(leftovers, ", "))
		return true
	}
	status.False(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason, fmt.Sprintf(
		"the cluster's objects on Harvester cannot be deleted (%s): %s; fix this, or set the annotation %s on the HarvesterCluster to leave them there",
		strings.Join(leftovers, ", "), s.problem.Message, infrav1.AbandonAnnotation))
	return false
}

// possibleLeftovers lists the objects that may have been created for the cluster on Harvester.
func (s *scope) possibleLeftovers() []string {
	namespace := s.cluster.Spec.TargetNamespace
	var all []string
	if s.cluster.Spec.LoadBalancerConfig.IPAMType != "" {
		all = append(all, fmt.Sprintf("the LoadBalancer and Service of namespace %s", namespace))
	}
	if conditions.Has(s.cluster, infrav1.CustomIPPoolCreatedCondition) || conditions.Has(s.cluster, infrav1.VMIPPoolCreatedByControllerCondition) {
		all = append(all, "IPPools")
	}
	if conditions.Has(s.cluster, configReady) {
		all = append(all, fmt.Sprintf("the ServiceAccount and RoleBinding of namespace %s, and ClusterRole and ClusterRoleBinding", namespace))
	}
	if len(all) > 0 {
		all[len(all)-1] += fmt.Sprintf(" with the label %s=%s", infrav1.ClusterIDLabel, s.cluster.ID())
	}
	if uid := s.cluster.Status.WorkloadClusterUID; uid != "" {
		all = append(all, fmt.Sprintf("the LoadBalancers of namespace %s with the annotation %s=%s", namespace, lbv1.ClusterUIDAnnotation, uid))
	}
	return all
}

// deleteLoadBalancer removes the announcement of the address before the load balancer, which releases its address at once: another load
// balancer must not get an address that is still announced. An unmarked Service was created by Harvester in the meantime and is deleted
// with the load balancer.
func (s *scope) deleteLoadBalancer(ctx context.Context) (bool, error) {
	list := &lbv1.LoadBalancerList{}
	err := s.conn.List(ctx, list, client.InNamespace(s.cluster.Spec.TargetNamespace))
	if err != nil {
		return s.reportDeletionError(err, "listing load balancers")
	}
	lb, _ := loadbalancer.Own(s.by, list.Items)
	if lb == nil {
		return true, nil
	}
	key := client.ObjectKeyFromObject(lb)
	service, err := reconcile.Find(ctx, s.conn, key, &corev1.Service{})
	if err != nil {
		return s.reportDeletionError(err, "reading Service "+key.String())
	}
	if service != nil && s.by.Has(service) {
		return s.deleteObject(ctx, service)
	}
	slice, err := reconcile.Find(ctx, s.conn, key, &discoveryv1.EndpointSlice{})
	if err != nil {
		return s.reportDeletionError(err, "reading EndpointSlice "+key.String())
	}
	if slice != nil && loadbalancer.Belongs(s.by, lb, slice) {
		if err := client.IgnoreNotFound(s.conn.Delete(ctx, slice)); err != nil {
			return s.reportDeletionError(err, "EndpointSlice "+key.String())
		}
	}
	return s.deleteObject(ctx, lb)
}

// deletePools deletes the cluster's pools. Harvester keeps pools with allocated addresses. No event reports that a holder was deleted
// without its address.
func (s *scope) deletePools(ctx context.Context) (bool, error) {
	all, err := s.allPools(ctx)
	if err != nil {
		return s.reportDeletionError(err, "listing IPPools")
	}
	own := owned.PoolsOf(s.by, all)
	for _, pool := range own {
		held, err := s.releaseLeaked(ctx, pool)
		if err != nil {
			return s.reportDeletionError(err, "releasing addresses of IPPool "+pool.Name)
		}
		if len(held) > 0 {
			s.conn.Await(requester(client.ObjectKeyFromObject(s.cluster)))
			s.requeueAfter = reconcile.Earlier(s.requeueAfter, recheckInterval)
			status.False(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason, fmt.Sprintf(
				"IPPool %s, created for the cluster, still has allocated addresses (%s): delete their holders on Harvester, release the address of one that "+
					"does not exist with the annotation %s: \"ADDRESS: NAMESPACE/NAME\" on the pool, or remove the label %s from the pool to keep it",
				pool.Name, strings.Join(held, ", "), lbv1.ReleaseAnnotation, infrav1.ClusterIDLabel))
			return false, nil
		}
		if _, err := s.deleteObject(ctx, pool); err != nil {
			return false, err
		}
	}
	if len(own) > 0 {
		s.conn.Await(requester(client.ObjectKeyFromObject(s.cluster)))
		s.requeueAfter = reconcile.Earlier(s.requeueAfter, recheckInterval) // Harvester may still count released addresses as allocated
	}
	return len(own) == 0, nil
}

// deleteCloudProviderAccount deletes the cloud provider's account, which can exist even if the spec no longer requests one.
func (s *scope) deleteCloudProviderAccount(ctx context.Context) (bool, error) {
	what, err := s.deleteAccount(ctx)
	if err != nil {
		return s.reportDeletionError(err, what)
	}
	return true, nil
}

// deleteObject deletes an object by its UID, so that a new object of that name is not affected. The cluster is enqueued when the
// object no longer exists.
func (s *scope) deleteObject(ctx context.Context, o client.Object) (bool, error) {
	what := fmt.Sprintf("%s %s", patch.KindOf(s.conn, o), client.ObjectKeyFromObject(o))
	status.False(s.cluster, infrav1.InfrastructureReadyCondition, infrav1.DeletingReason, "waiting for Harvester to delete "+what)
	if o.GetAnnotations()[infrav1.OwnerAnnotation] == "" { // its deletion enqueues no cluster
		s.requeueAfter = recheckInterval
	}
	if !o.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	uid := o.GetUID()
	if err := s.conn.Delete(ctx, o, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return s.reportDeletionError(err, what)
	}
	return false, nil
}

// reportDeletionError reports in a condition what Harvester does not delete. It reports true if the user allowed the object to stay.
func (s *scope) reportDeletionError(err error, what string) (bool, error) {
	if ignoreSyncing(err) == nil {
		return false, nil
	}
	_, abandoned := faultlinev1.Lookup(s.cluster.Annotations, infrav1.AbandonAnnotation)
	err = s.reportRejected(err, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason, what)
	if err == nil && abandoned {
		s.warn(infrav1.DeletionBlockedReason, "Left on Harvester because of the annotation %s: %s", infrav1.AbandonAnnotation, what)
		return true, nil
	}
	return false, err
}
