// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

const lbReady = infrav1.LoadBalancerReadyCondition

// reconcileEndpoint creates the control plane's load balancer and publishes its address once. The published endpoint never
// changes, because certificates and kubeconfigs contain it. It reports whether the cluster has an endpoint.
func (s *scope) reconcileEndpoint(ctx context.Context) (bool, error) {
	if s.cluster.Spec.LoadBalancerConfig.IPAMType == "" {
		return s.reconcileGivenEndpoint(), nil
	}
	err := s.provisionLoadBalancer(ctx)
	return s.cluster.Spec.ControlPlaneEndpoint.IsSet(), err
}

// provisionLoadBalancer creates the load balancer and everything that it needs. Each step that waits sets the condition.
func (s *scope) provisionLoadBalancer(ctx context.Context) error {
	pool, ok, err := s.addressPool(ctx)
	if err != nil || !ok {
		return err
	}
	lb, err := s.reconcileLoadBalancer(ctx, pool)
	if err != nil || lb == nil {
		return err
	}
	service, err := s.reconcileService(ctx, lb)
	if err != nil || service == nil {
		return err
	}
	address := loadbalancer.Address(lb, service)
	if address == "" {
		if ok, err := s.ensurePlaceholder(ctx, lb); err != nil || !ok {
			return err
		}
	}
	if endpoint := &s.cluster.Spec.ControlPlaneEndpoint; address != "" && !endpoint.IsSet() {
		*endpoint = infrav1.APIEndpoint{Host: address, Port: loadbalancer.Port(s.cluster, s.backendPort())}
		s.record(infrav1.LoadBalancerReadyReason, "The control-plane endpoint is %s:%d, the address of load balancer %s/%s on Harvester",
			endpoint.Host, endpoint.Port, lb.Namespace, lb.Name)
	}
	condition := loadbalancer.Condition(s.cluster.Spec.ControlPlaneEndpoint, lb, service, pool)
	condition.Type = lbReady
	conditions.Set(s.cluster, condition)
	return nil
}

// backendPort returns the port of the API server on the machines; 0 if the Cluster does not set it.
func (s *scope) backendPort() int32 { return s.owner.Spec.ClusterNetwork.APIServerPort }

// reconcileGivenEndpoint handles clusters without a load balancer. It reports whether the spec has an endpoint.
func (s *scope) reconcileGivenEndpoint() bool {
	endpoint := &s.cluster.Spec.ControlPlaneEndpoint
	if !endpoint.IsSet() {
		status.False(s.cluster, lbReady, infrav1.ControlPlaneEndpointMissingReason,
			"neither spec.loadBalancerConfig nor spec.controlPlaneEndpoint is set: set one of them")
		return false
	}
	if endpoint.Port == 0 {
		endpoint.Port = loadbalancer.Port(s.cluster, s.backendPort())
	}
	status.True(s.cluster, lbReady, infrav1.ControlPlaneEndpointGivenReason)
	return true
}

// addressPool returns the pool of the load balancer's address; nil for DHCP or a pool that Harvester chooses. It reports whether the load
// balancer can be created.
func (s *scope) addressPool(ctx context.Context) (*lbv1.IPPool, bool, error) {
	config := s.cluster.Spec.LoadBalancerConfig
	given, wanted := owned.LoadBalancerPool.Given(s.by)
	switch {
	case wanted:
		pool, err := s.reconcilePool(ctx, owned.LoadBalancerPool, given)
		if pool == nil && err == nil {
			status.False(s.cluster, lbReady, infrav1.LoadBalancerNotReadyReason,
				"waiting for the IPPool of spec.loadBalancerConfig.ipPool: see condition "+infrav1.CustomIPPoolCreatedCondition)
		}
		return pool, pool != nil, err
	case config.IPAMType != infrav1.POOL || config.IPPoolRef == "": // from DHCP, or from a pool that Harvester chooses
		conditions.Delete(s.cluster, infrav1.CustomIPPoolCreatedCondition)
		return nil, true, nil
	}
	conditions.Delete(s.cluster, infrav1.CustomIPPoolCreatedCondition)
	pool, err := reconcile.Find(ctx, s.conn, client.ObjectKey{Name: config.IPPoolRef}, &lbv1.IPPool{})
	if err != nil {
		return nil, false, s.reportRejected(err, lbReady, infrav1.LoadBalancerNotReadyReason, "reading IPPool "+config.IPPoolRef)
	}
	if pool == nil {
		s.conn.Await(requester(client.ObjectKeyFromObject(s.cluster)))
		status.False(s.cluster, lbReady, infrav1.IPPoolNotFoundReason, fmt.Sprintf(
			"%s, but spec.loadBalancerConfig.ipPoolRef names it: create it, or name another", missingMessage("IPPool", config.IPPoolRef)))
	}
	return pool, pool != nil, nil
}

// reconcileLoadBalancer creates or updates the load balancer. It returns nil while the cluster has no load balancer.
func (s *scope) reconcileLoadBalancer(ctx context.Context, pool *lbv1.IPPool) (*lbv1.LoadBalancer, error) {
	from := ""
	if pool != nil {
		from = pool.Name
	}
	wanted := loadbalancer.Wanted(s.by, s.backendPort(), from)
	what := fmt.Sprintf("load balancer %s/%s", wanted.Namespace, wanted.Name)
	list := &lbv1.LoadBalancerList{}
	if err := s.conn.List(ctx, list, client.InNamespace(wanted.Namespace)); err != nil {
		return nil, s.reportRejected(err, lbReady, infrav1.LoadBalancerNotReadyReason, "listing load balancers")
	}
	own, foreign := loadbalancer.Own(s.by, list.Items)
	var err error
	switch {
	case own != nil && !own.DeletionTimestamp.IsZero():
		status.False(s.cluster, lbReady, infrav1.LoadBalancerNotReadyReason, what+" is being deleted: it is then created again, and may get another address")
		return nil, nil
	case own != nil:
		err = s.updateLoadBalancer(ctx, own, wanted)
	case foreign == nil:
		own, foreign, err = s.createLoadBalancer(ctx, wanted)
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		s.recheckNamespace()
		return nil, nil
	case err != nil:
		return nil, s.reportRejected(err, lbReady, infrav1.LoadBalancerRefusedReason, what)
	case foreign != nil:
		status.False(s.cluster, lbReady, infrav1.LoadBalancerNotOursReason, fmt.Sprintf(
			"%s does not belong to this cluster: delete or rename it, and the controller creates the cluster's own", what))
		s.requeueAfter = recheckInterval
		return nil, nil
	}
	return own, nil
}

// recheckNamespace causes the target namespace to be checked and created again.
func (s *scope) recheckNamespace() {
	status.False(s.cluster, infrav1.TargetNamespaceReadyCondition, infrav1.TargetNamespaceNotReadyReason, fmt.Sprintf(
		"namespace %s of spec.targetNamespace does not exist or is being deleted: the controller creates it again", s.cluster.Spec.TargetNamespace))
	s.requeueAfter = recheckInterval
}

// createLoadBalancer creates the load balancer. If it already exists, which the cache may not show yet, it returns the existing one.
func (s *scope) createLoadBalancer(ctx context.Context, wanted *lbv1.LoadBalancer) (own, foreign *lbv1.LoadBalancer, err error) {
	err = s.conn.Create(ctx, wanted)
	if !apierrors.IsAlreadyExists(err) {
		return wanted, nil, err
	}
	existing := &lbv1.LoadBalancer{}
	if err := s.conn.Live().Get(ctx, client.ObjectKeyFromObject(wanted), existing); err != nil {
		return nil, nil, err
	}
	if s.by.Has(existing) {
		return existing, nil, nil
	}
	return nil, existing, nil
}

// updateLoadBalancer writes differing fields with the resourceVersion that was read, because Harvester writes the status of the same
// resource.
func (s *scope) updateLoadBalancer(ctx context.Context, lb, wanted *lbv1.LoadBalancer) error {
	before := lb.DeepCopy()
	if !loadbalancer.Change(lb, wanted, s.by) {
		return nil
	}
	return s.patch.Tolerate(s.onHarvester.Write(ctx, s.conn, before, lb))
}

// reconcileService creates the load balancer's Service, or marks the one that Harvester created, so that its address is announced before
// any machine exists. It returns nil while the cluster has none.
func (s *scope) reconcileService(ctx context.Context, lb *lbv1.LoadBalancer) (*corev1.Service, error) {
	key := client.ObjectKeyFromObject(lb)
	what := fmt.Sprintf("Service %s", key)
	service, err := reconcile.Find(ctx, s.conn, key, &corev1.Service{})
	if err == nil && service == nil {
		service, err = s.createService(ctx, lb)
	}
	if err == nil && !loadbalancer.Belongs(s.by, lb, service) {
		status.False(s.cluster, lbReady, infrav1.LoadBalancerNotOursReason, fmt.Sprintf(
			"%s does not belong to this cluster's load balancer: delete it, and the controller creates the cluster's own", what))
		s.requeueAfter = recheckInterval
		return nil, nil
	}
	if before := service.DeepCopy(); err == nil && loadbalancer.MarkService(s.by, service) {
		err = s.patch.Tolerate(s.onHarvester.Write(ctx, s.conn, before, service))
	}
	if err != nil {
		return nil, s.reportRejected(err, lbReady, infrav1.LoadBalancerRefusedReason, what)
	}
	return service, nil
}

// createService creates the Service, or returns an existing one regardless of its owner.
func (s *scope) createService(ctx context.Context, lb *lbv1.LoadBalancer) (*corev1.Service, error) {
	wanted := loadbalancer.Service(s.by, lb)
	err := s.conn.Create(ctx, wanted)
	if !apierrors.IsAlreadyExists(err) {
		return wanted, err
	}
	existing := &corev1.Service{}
	return existing, s.conn.Live().Get(ctx, client.ObjectKeyFromObject(wanted), existing)
}

// ensurePlaceholder creates an endpoint for a Service without one. It reports whether an endpoint exists.
func (s *scope) ensurePlaceholder(ctx context.Context, lb *lbv1.LoadBalancer) (bool, error) {
	slice, err := reconcile.Find(ctx, s.conn, client.ObjectKeyFromObject(lb), &discoveryv1.EndpointSlice{})
	if err == nil && slice == nil {
		err = client.IgnoreAlreadyExists(s.conn.Create(ctx, loadbalancer.Placeholder(s.by, lb)))
	}
	if err != nil {
		return false, s.reportRejected(err, lbReady, infrav1.LoadBalancerRefusedReason, fmt.Sprintf("EndpointSlice %s/%s", lb.Namespace, lb.Name))
	}
	return true, nil
}
