// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

const balancerFinalizer = "wrangler.cattle.io/harvester-lb-controller"

// AddLoadBalancer adds the controllers of pools and load balancers.
func AddLoadBalancer(set *controllers.Set) error {
	c := set.Client()
	return errors.Join(
		set.Controller("ippool").For(&lbv1.IPPool{}).
			WatchesRawSource(set.EnqueueOnFaultChange(&lbv1.IPPoolList{})).
			Complete(&pools{client: c, faults: set.Faults()}),
		set.Controller("loadbalancer").For(&lbv1.LoadBalancer{}).
			Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}).
			Watches(&discoveryv1.EndpointSlice{}, &handler.EnqueueRequestForObject{}).
			Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(affectedBalancers(c))).
			Watches(&lbv1.IPPool{}, handler.EnqueueRequestsFromMapFunc(affectedBalancers(c))).
			WatchesRawSource(set.EnqueueOnFaultChange(&lbv1.LoadBalancerList{})).
			Complete(&balancers{client: c, live: set.APIReader(), faults: set.Faults()}),
	)
}

// affectedBalancers returns the load balancers in the namespace of the changed object, or all of them for a cluster-scoped object.
func affectedBalancers(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		near := &lbv1.LoadBalancerList{}
		err := c.List(ctx, near, client.InNamespace(obj.GetNamespace()))
		return controllers.Requests(ctx, near, err)
	}
}

// balancers simulates Harvester's load balancer.
type balancers struct {
	client client.Client
	// live reads from the API server, so that no address is allocated twice.
	live   client.Reader
	faults *controllers.FaultTable
}

// Reconcile allocates the address of a load balancer and, for virtual machines, creates its Service. As in Harvester, endpoints
// are added only once the Service has its address.
func (r *balancers) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lb := &lbv1.LoadBalancer{}
	// The cache may not contain the allocated address yet.
	if err := r.live.Get(ctx, req.NamespacedName, lb); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.faults.Has(controllers.NoLoadBalancer, lb) {
		return ctrl.Result{}, nil
	}
	if lb.DeletionTimestamp != nil {
		return ctrl.Result{}, r.reconcileDelete(ctx, lb)
	}
	before := lb.DeepCopy()
	controllerutil.AddFinalizer(lb, balancerFinalizer)
	problem := r.reconcileNormal(ctx, lb)
	if problem == nil {
		setReadyCondition(&lb.Status.Conditions, corev1.ConditionTrue, "", "")
	} else {
		setReadyCondition(&lb.Status.Conditions, corev1.ConditionFalse, "Error", problem.Error())
	}
	if !apiequality.Semantic.DeepEqual(before, lb) {
		if err := r.client.Update(ctx, lb); controllers.IgnoreStale(err) != nil {
			return ctrl.Result{}, fmt.Errorf("updating load balancer: %w", err)
		}
	}
	if errors.Is(problem, errAddressPending) || errors.Is(problem, errNoBackends) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, problem
}

// Errors of load balancers that wait for an event.
var (
	errAddressPending = errors.New("service is waiting for external IP")
	errNoBackends     = errors.New("the lb has no running backend servers")
)

func (r *balancers) reconcileNormal(ctx context.Context, lb *lbv1.LoadBalancer) error {
	if err := r.allocate(ctx, lb); err != nil {
		return err
	}
	if lb.Spec.WorkloadType == lbv1.WorkloadCluster {
		return nil
	}
	address, err := r.service(ctx, lb)
	switch {
	case err != nil:
		return err
	case address == "":
		return errAddressPending
	}
	lb.Status.Address = address
	return r.reconcileEndpoints(ctx, lb)
}

// owner returns the name of a load balancer in pools.
func owner(lb *lbv1.LoadBalancer) string { return lb.Namespace + "/" + lb.Name }

// allocate allocates an address to the load balancer. An address of a pool other than the requested one is released first.
func (r *balancers) allocate(ctx context.Context, lb *lbv1.LoadBalancer) error {
	if lb.Spec.IPAM == lbv1.IPAMDHCP {
		lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IP: lbv1.UnspecifiedAddress}
		return nil
	}
	has := lb.Status.AllocatedAddress
	if has.IP != "" && (lb.Spec.IPPool == "" || lb.Spec.IPPool == has.IPPool) {
		return nil
	}
	if has.IP != "" {
		if err := r.release(ctx, lb, has.IPPool); err != nil {
			return err
		}
		lb.Status.AllocatedAddress = lbv1.AllocatedAddress{}
	}
	pool, err := r.pool(ctx, lb)
	if err != nil {
		return err
	}
	address, err := allocateAddress(pool, owner(lb))
	if errors.Is(err, errDuplicate) {
		// The address moves to the history, from which the next attempt allocates it unless another load balancer does so first.
		return errors.Join(err, r.release(ctx, lb, pool.Name))
	} else if err != nil {
		return fmt.Errorf("allocating from pool %s: %w", pool.Name, err)
	}
	if err := r.client.Update(ctx, pool); err != nil {
		return fmt.Errorf("allocating from pool %s: %w", pool.Name, err)
	}
	lb.Status.AllocatedAddress = address
	return nil
}

func (r *balancers) pool(ctx context.Context, lb *lbv1.LoadBalancer) (*lbv1.IPPool, error) {
	if lb.Spec.IPPool != "" {
		pool := &lbv1.IPPool{}
		if err := r.live.Get(ctx, client.ObjectKey{Name: lb.Spec.IPPool}, pool); err != nil {
			return nil, fmt.Errorf("reading pool: %w", err)
		}
		return pool, nil
	}
	list := &lbv1.IPPoolList{}
	if err := r.live.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing pools: %w", err)
	}
	wanted := requirementOf(lb)
	pool := wanted.choose(list.Items)
	if pool == nil {
		return nil, fmt.Errorf("no matched IPPool with requirement %+v", wanted)
	}
	return pool, nil
}

func (r *balancers) release(ctx context.Context, lb *lbv1.LoadBalancer, name string) error {
	pool := &lbv1.IPPool{}
	if err := r.live.Get(ctx, client.ObjectKey{Name: name}, pool); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("reading pool: %w", err)
	}
	if !releaseAddresses(pool, owner(lb)) {
		return nil
	}
	if err := r.client.Update(ctx, pool); err != nil {
		return fmt.Errorf("releasing an address of pool %s: %w", name, err)
	}
	return nil
}

// reconcileDelete releases the address before the Service is deleted, as in Harvester.
func (r *balancers) reconcileDelete(ctx context.Context, lb *lbv1.LoadBalancer) error {
	if name := lb.Status.AllocatedAddress.IPPool; name != "" {
		if err := r.release(ctx, lb, name); err != nil {
			return err
		}
	}
	return controllers.RemoveFinalizers(ctx, r.client, lb, balancerFinalizer)
}
