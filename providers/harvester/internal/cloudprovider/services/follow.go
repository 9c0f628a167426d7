// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	cloudproviderapi "k8s.io/cloud-provider/api"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 30 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[types.NamespacedName]

// Informer tells of changes.
type Informer interface {
	AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error)
}

// Follow goes on with Services when their LoadBalancers have changed, and with LoadBalancers when their Services have: the service controller of
// the framework hears neither of an address on Harvester nor of a status that kube-vip has written. It also deletes LoadBalancers
// whose Service is gone. It returns when ctx ends.
func (s *Services) Follow(ctx context.Context, services, balancers Informer) error {
	q := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "harvester-services"})
	defer q.ShutDown()
	both := []toolscache.InformerSynced{}
	for informer, handle := range map[Informer]func(queue, any){services: s.serviceChanged, balancers: s.balancerChanged} {
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { handle(q, o) }, UpdateFunc: func(_, o any) { handle(q, o) }, DeleteFunc: func(o any) {
				if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
					o = gone.Obj
				}
				handle(q, o)
			},
		})
		if err != nil {
			return err
		}
		both = append(both, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), both...) {
		return nil
	}
	go func() {
		<-ctx.Done()
		q.ShutDown()
	}()
	for s.next(ctx, q) {
	}
	return nil
}

// serviceChanged goes on with a Service, with those that share its address and with the one whose address it shares.
func (s *Services) serviceChanged(q queue, o any) {
	service, ok := o.(*corev1.Service)
	if !ok {
		return
	}
	key := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	q.Add(key)
	for _, sharing := range s.sharing(key) {
		q.Add(types.NamespacedName{Namespace: sharing.Namespace, Name: sharing.Name})
	}
	if primary, err := primaryOf(service); err == nil && primary.Name != "" {
		q.Add(primary)
	}
}

func (s *Services) balancerChanged(q queue, o any) {
	if lb, ok := o.(*lbv1.LoadBalancer); ok && lb.Labels[clusterLabel] == s.options.Cluster {
		q.Add(types.NamespacedName{Namespace: lb.Labels[namespaceLabel], Name: lb.Labels[nameLabel]})
	}
}

// next reports false when there will be no other.
func (s *Services) next(ctx context.Context, q queue) bool {
	key, ended := q.Get()
	if ended {
		return false
	}
	defer q.Done(key)
	err := s.follow(ctx, key)
	var waits *cloudproviderapi.RetryError
	switch {
	case err == nil, errors.As(err, &waits):
		q.Forget(key)
	default:
		if !apierrors.IsConflict(err) {
			klog.FromContext(ctx).Info("Going on with a Service failed", "service", key, "reason", err.Error())
		}
		q.AddRateLimited(key)
	}
	return true
}

// follow goes on with a Service. Until it has the finalizer of the service controller, nothing is made for it, and as long as one has the
// finalizer that is to lose its load balancer, that is the service controller's business.
func (s *Services) follow(ctx context.Context, key types.NamespacedName) error {
	service, err := s.service(key)
	if err != nil {
		return err
	}
	switch {
	case service == nil, !servicehelper.HasLBFinalizer(service) && (service.DeletionTimestamp != nil || !wantsBalancer(service)):
		return s.sweep(ctx, key)
	case !servicehelper.HasLBFinalizer(service):
		return nil
	case service.DeletionTimestamp != nil:
		return s.free(ctx, service)
	case !wantsBalancer(service):
		return nil
	}
	return s.ensure(ctx, service)
}

// free takes the address out of a Service that is being deleted when no other shares it any more. The service controller, which has waited for that,
// hears of it by this change.
func (s *Services) free(ctx context.Context, service *corev1.Service) error {
	if len(s.sharing(types.NamespacedName{Namespace: service.Namespace, Name: service.Name})) > 0 {
		return nil
	}
	return client.IgnoreNotFound(s.address(ctx, service, nil, ""))
}

// sweep deletes the LoadBalancers that are left of a Service that is gone or wants none. Only those that were made for this very cluster are.
func (s *Services) sweep(ctx context.Context, key types.NamespacedName) error {
	left, err := s.harvester.Balancers(ctx, client.MatchingLabels{clusterLabel: s.options.Cluster, namespaceLabel: key.Namespace, nameLabel: key.Name})
	if err != nil || len(left) == 0 {
		return err
	}
	owner, err := s.whose(ctx)
	if err != nil {
		return err
	}
	service, err := s.guest.CoreV1().Services(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading Service %s: %w", key, err)
	case wantsBalancer(service) || servicehelper.HasLBFinalizer(service):
		return nil // It is there again, or not gone yet.
	}
	for i := range left {
		lb := &left[i]
		if lb.Annotations[ownerAnnotation] != owner || lb.DeletionTimestamp != nil {
			continue
		}
		klog.FromContext(ctx).Info("Deleting a LoadBalancer whose Service is gone", "loadBalancer", lb.Name, "service", key)
		if err := s.remove(ctx, lb); err != nil {
			return err
		}
	}
	return nil
}
