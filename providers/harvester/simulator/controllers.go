// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// Fields by which objects are found.
const (
	createdByField = "label." + kubevirtv1.CreatedByLabel
	podHostField   = "spec.nodeName"
	accountField   = "metadata.annotations." + corev1.ServiceAccountNameKey
	classField     = "spec.storageClassName"
	claimField     = "spec.volumes.persistentVolumeClaim"
)

func (s *Simulator) addControllers(ctx context.Context, mgr ctrl.Manager) error {
	if err := indexFields(ctx, mgr); err != nil {
		return err
	}
	c, clock, delays, hooks := mgr.GetClient(), newClock(s.settings.now), s.settings.delays, s.settings.hooks
	waken := func(list client.ObjectList) source.Source { return s.wakening(c, list) }
	add := []error{
		s.controller(mgr, "virtualmachine").For(&kubevirtv1.VirtualMachine{}).Owns(&kubevirtv1.VirtualMachineInstance{}).
			Complete(&machines{client: c, clock: clock, delays: delays, hooks: hooks}),
		s.controller(mgr, "virtualmachineinstance").For(&kubevirtv1.VirtualMachineInstance{}).Owns(&corev1.Pod{}).
			Watches(&corev1.PersistentVolumeClaim{}, finding(c, &kubevirtv1.VirtualMachineInstanceList{}, claimField)).
			Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(instancesOfHost(c))).
			WatchesRawSource(waken(&kubevirtv1.VirtualMachineInstanceList{})).
			Complete(&instances{
				client: c, clock: clock, delays: delays, troubles: s.troubles,
				guests: &guests{client: c, leases: s.leases, hooks: hooks, troubles: s.troubles},
			}),
		s.controller(mgr, "volume").For(&corev1.PersistentVolumeClaim{}).
			Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(claimsOfInstance)).
			Watches(&storagev1.StorageClass{}, finding(c, &corev1.PersistentVolumeClaimList{}, classField)).
			WatchesRawSource(waken(&corev1.PersistentVolumeClaimList{})).
			Complete(&volumes{client: c, clock: clock, delays: delays, troubles: s.troubles}),
		s.controller(mgr, "image").For(&harvesterhciv1.VirtualMachineImage{}).
			WatchesRawSource(waken(&harvesterhciv1.VirtualMachineImageList{})).
			Complete(&images{client: c, clock: clock, delays: delays, troubles: s.troubles}),
		s.controller(mgr, "pod").For(&corev1.Pod{}).
			Watches(&corev1.Node{}, finding(c, &corev1.PodList{}, podHostField)).
			Complete(&kubelets{client: c, clock: clock, delays: delays}),
		s.addBalancers(mgr),
		s.controller(mgr, "token").For(&corev1.Secret{}).
			Watches(&corev1.ServiceAccount{}, finding(c, &corev1.SecretList{}, accountField)).
			Complete(&tokens{client: c, authority: s.front.Authority()}),
		s.controller(mgr, "kube-vip").For(&corev1.Service{}).
			Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(serviceOf)).
			WatchesRawSource(waken(&corev1.ServiceList{})).
			Complete(&vips{client: c, leases: s.leases, version: s.settings.kubeVIP, troubles: s.troubles}),
	}
	for _, err := range add {
		if err != nil {
			return fmt.Errorf("adding controller: %w", err)
		}
	}
	return s.addGarbageCollectors(ctx, mgr)
}

// addBalancers adds Harvester's load balancer, unless somebody else runs one.
func (s *Simulator) addBalancers(mgr ctrl.Manager) error {
	if !s.settings.balances {
		return nil
	}
	c := mgr.GetClient()
	return errors.Join(
		s.controller(mgr, "ippool").For(&lbv1.IPPool{}).
			WatchesRawSource(s.wakening(c, &lbv1.IPPoolList{})).
			Complete(&pools{client: c, troubles: s.troubles}),
		s.controller(mgr, "loadbalancer").For(&lbv1.LoadBalancer{}).
			Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}).
			Watches(&discoveryv1.EndpointSlice{}, &handler.EnqueueRequestForObject{}).
			Watches(&kubevirtv1.VirtualMachineInstance{}, handler.EnqueueRequestsFromMapFunc(balancersNear(c))).
			Watches(&lbv1.IPPool{}, handler.EnqueueRequestsFromMapFunc(balancersNear(c))).
			WatchesRawSource(s.wakening(c, &lbv1.LoadBalancerList{})).
			Complete(&balancers{client: c, live: mgr.GetAPIReader(), troubles: s.troubles}),
	)
}

func (s *Simulator) controller(mgr ctrl.Manager, name string) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).Named(name + "-simulator").
		WithOptions(controller.Options{MaxConcurrentReconciles: s.settings.workers, SkipNameValidation: ptr.To(true)})
}

func indexFields(ctx context.Context, mgr ctrl.Manager) error {
	type index struct {
		of     client.Object
		field  string
		values client.IndexerFunc
	}
	for _, i := range []index{
		{&corev1.Pod{}, createdByField, func(obj client.Object) []string { return []string{obj.GetLabels()[kubevirtv1.CreatedByLabel]} }},
		{&corev1.Pod{}, podHostField, func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} }},
		{&corev1.Secret{}, accountField, func(obj client.Object) []string {
			return []string{obj.GetAnnotations()[corev1.ServiceAccountNameKey]}
		}},
		{&corev1.PersistentVolumeClaim{}, classField, func(obj client.Object) []string {
			return []string{ptr.Deref(obj.(*corev1.PersistentVolumeClaim).Spec.StorageClassName, "")}
		}},
		{&kubevirtv1.VirtualMachineInstance{}, claimField, func(obj client.Object) []string {
			return claimsOf(&obj.(*kubevirtv1.VirtualMachineInstance).Spec)
		}},
		{&kubevirtv1.VirtualMachine{}, claimField, func(obj client.Object) []string {
			if template := obj.(*kubevirtv1.VirtualMachine).Spec.Template; template != nil {
				return claimsOf(&template.Spec)
			}
			return nil
		}},
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, i.of, i.field, i.values); err != nil {
			return fmt.Errorf("indexing by %s: %w", i.field, err)
		}
	}
	return nil
}

// finding enqueues those whose field has the name of what has changed; in its namespace, if it has one.
func finding(c client.Reader, list client.ObjectList, field string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		found := list.DeepCopyObject().(client.ObjectList)
		err := c.List(ctx, found, client.InNamespace(obj.GetNamespace()), client.MatchingFields{field: obj.GetName()})
		return requestsOf(ctx, found, err)
	})
}

func requestsOf(ctx context.Context, list client.ObjectList, err error) []reconcile.Request {
	var requests []reconcile.Request
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
			return nil
		})
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing what is concerned")
	}
	return requests
}

// wakening enqueues all objects of a kind when troubles begin or end.
func (s *Simulator) wakening(c client.Reader, list client.ObjectList) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.troubles.onChange(func() {
			every := list.DeepCopyObject().(client.ObjectList)
			err := c.List(ctx, every)
			for _, request := range requestsOf(ctx, every, err) {
				queue.Add(request)
			}
		})
		return nil
	})
}

// instancesOfHost are those that have a Pod there.
func instancesOfHost(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, host client.Object) []reconcile.Request {
		there := &corev1.PodList{}
		if err := c.List(ctx, there, client.MatchingFields{podHostField: host.GetName()}); err != nil {
			return requestsOf(ctx, there, err)
		}
		var requests []reconcile.Request
		for i := range there.Items {
			if owner := metav1.GetControllerOf(&there.Items[i]); owner != nil {
				requests = append(requests, reconcile.Request{
					NamespacedName: client.ObjectKey{Namespace: there.Items[i].Namespace, Name: owner.Name},
				})
			}
		}
		return requests
	}
}

func claimsOfInstance(_ context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range claimsOf(&obj.(*kubevirtv1.VirtualMachineInstance).Spec) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}})
	}
	return requests
}

// balancersNear are those of the namespace of what has changed, or all.
func balancersNear(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		near := &lbv1.LoadBalancerList{}
		err := c.List(ctx, near, client.InNamespace(obj.GetNamespace()))
		return requestsOf(ctx, near, err)
	}
}

func serviceOf(_ context.Context, endpoints client.Object) []reconcile.Request {
	name := endpoints.GetLabels()[discoveryv1.LabelServiceName]
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: endpoints.GetNamespace(), Name: name}}}
}
