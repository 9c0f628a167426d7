// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/watch"
)

// Informer delivers changes.
type Informer interface {
	AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error)
}

// follower reconciles Services and LoadBalancers, with a single worker.
type follower struct {
	*Services
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
	events record.EventRecorder
	// recorded has the messages of the last events of each Service that still hold.
	recorded map[types.NamespacedName][]string
}

// Follow reconciles Services when their LoadBalancers have changed, and LoadBalancers when their Services have: the service controller of
// the framework gets events neither for an address on Harvester nor for a status that kube-vip has written. It also deletes LoadBalancers
// without a Service. It returns when ctx ends.
func (s *Services) Follow(ctx context.Context, services, balancers Informer) error {
	recording := record.NewBroadcaster(record.WithContext(ctx))
	defer recording.Shutdown()
	recording.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: s.guest.CoreV1().Events("")})
	f := &follower{
		Services: s, recorded: map[types.NamespacedName][]string{},
		events: recording.NewRecorder(clientgoscheme.Scheme, corev1.EventSource{Component: "harvester-cloud-provider"}),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			watch.Backoff[types.NamespacedName](),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "harvester-services"}),
	}
	both := []toolscache.InformerSynced{}
	for informer, handle := range map[Informer]func(any){services: f.serviceChanged, balancers: f.balancerChanged} {
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: handle, UpdateFunc: func(_, o any) { handle(o) }, DeleteFunc: func(o any) {
				if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
					o = gone.Obj
				}
				handle(o)
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
		f.queue.ShutDown()
	}()
	for f.processNext(ctx) {
	}
	return nil
}

// serviceChanged enqueues a Service, those that share its address and the one whose address it shares.
func (f *follower) serviceChanged(o any) {
	service, ok := o.(*corev1.Service)
	if !ok {
		return
	}
	key := keyOf(service)
	f.queue.Add(key)
	for _, sharing := range f.sharing(key) {
		f.queue.Add(keyOf(sharing))
	}
	if primary, err := primaryOf(service); err == nil && primary.Name != "" {
		f.queue.Add(primary)
	}
}

func (f *follower) balancerChanged(o any) {
	if lb, ok := o.(*lbv1.LoadBalancer); ok && lb.Labels[lbv1.GuestClusterLabel] == f.options.Cluster {
		f.queue.Add(types.NamespacedName{Namespace: lb.Labels[namespaceLabel], Name: lb.Labels[nameLabel]})
	}
}

// processNext returns false when the queue is shut down.
func (f *follower) processNext(ctx context.Context) bool {
	key, ended := f.queue.Get()
	if ended {
		return false
	}
	defer f.queue.Done(key)
	service, err := f.service(key)
	if err == nil {
		err = f.reconcile(ctx, key, service)
	}
	var waits *waitError
	var removed *patch.RemovedError
	switch {
	case err == nil:
		f.record(key, service, f.remarks(ctx, key, service))
		f.queue.Forget(key)
	case errors.As(err, &waits):
		f.record(key, service, append(f.remarks(ctx, key, service), remarkOf(waits)))
		f.queue.Forget(key)
		f.queue.AddAfter(key, requeueInterval)
	case errors.As(err, &removed):
		f.record(key, service, append(f.remarks(ctx, key, service), remark{faultlinev1.ReasonAnnotationsRemoved, removed.Error(), true}))
		f.queue.AddRateLimited(key)
	default:
		if !apierrors.IsConflict(err) && !errors.Is(err, patch.ErrBehind) {
			klog.FromContext(ctx).Info("Reconciling a Service failed", "service", key, "reason", err.Error())
		}
		f.queue.AddRateLimited(key)
	}
	return true
}

// reconcile reconciles a Service. Before the service controller has added its finalizer, nothing is created for it. While a
// Service that no longer wants a load balancer has the finalizer, the service controller cleans up.
func (s *Services) reconcile(ctx context.Context, key types.NamespacedName, service *corev1.Service) error {
	if err := s.deleteUnused(ctx, key, service, s.options.allParts); err != nil {
		return err
	}
	switch {
	case service == nil || !servicehelper.HasLBFinalizer(service):
		return nil
	case service.DeletionTimestamp != nil:
		return s.finalize(ctx, service)
	case !wantsBalancer(service):
		return nil
	}
	return s.ensure(ctx, service)
}

// finalize removes the address of a Service that is being deleted, once no other Service shares it. That update enqueues the
// Service in the service controller, which has waited for it.
func (s *Services) finalize(ctx context.Context, service *corev1.Service) error {
	if len(s.sharing(keyOf(service))) > 0 {
		return nil
	}
	return client.IgnoreNotFound(s.writeAddresses(ctx, service, given{}))
}

// deleteUnused deletes the LoadBalancers of a Service (nil if deleted) that keeps does not return: those of a Service that was deleted or
// recreated, or has fewer addresses now. It deletes only LoadBalancers of this cluster.
func (s *Services) deleteUnused(ctx context.Context, key types.NamespacedName, service *corev1.Service, keeps func(*corev1.Service) []part) error {
	left, err := s.harvester.Balancers(ctx, client.MatchingLabels{lbv1.GuestClusterLabel: s.options.Cluster, namespaceLabel: key.Namespace, nameLabel: key.Name})
	if err != nil {
		return err
	}
	keep := names(keeps(service))
	left = slices.DeleteFunc(left, func(lb lbv1.LoadBalancer) bool { return slices.Contains(keep, lb.Name) || lb.DeletionTimestamp != nil })
	if len(left) == 0 {
		return nil
	}
	owner, err := s.clusterUID(ctx)
	if err != nil {
		return err
	}
	// The cache may be stale.
	if service, err = s.getService(ctx, key); err != nil {
		return err
	}
	keep, known := names(keeps(service)), names(s.options.allParts(service))
	for i := range left {
		of := left[i].Annotations[lbv1.ClusterUIDAnnotation]
		mine := of == owner || of == "" && slices.Contains(known, left[i].Name)
		if !mine || slices.Contains(keep, left[i].Name) {
			continue
		}
		klog.FromContext(ctx).Info("Deleting a LoadBalancer that its Service no longer uses", "loadBalancer", left[i].Name, "service", key)
		if err := s.deleteLoadBalancer(ctx, &left[i]); err != nil {
			return err
		}
	}
	return nil
}

// getService reads a Service from the API server, or returns nil.
func (s *Services) getService(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	service, err := s.guest.CoreV1().Services(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Service %s: %w", key, err)
	}
	return service, nil
}
