// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// ownerField indexes objects by the UIDs of their owners.
const ownerField = "metadata.ownerReferences.uid"

// garbageCollector simulates Kubernetes' garbage collector for one kind: it deletes objects whose owners no longer exist, and blocks
// foreground deletion until owned objects are deleted.
type garbageCollector struct {
	client client.Client
	// live reads from the API server.
	live client.Reader
	kind client.Object
	// kinds are the kinds that are garbage collected.
	kinds []objectKind
}

// objectKind is a kind and its list type.
type objectKind struct {
	object client.Object
	list   client.ObjectList
}

func collectedKinds() []objectKind {
	return []objectKind{
		{&corev1.Pod{}, &corev1.PodList{}}, {&corev1.Secret{}, &corev1.SecretList{}}, {&corev1.Service{}, &corev1.ServiceList{}},
		{&corev1.ServiceAccount{}, &corev1.ServiceAccountList{}},
		{&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{}},
		{&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}},
		{&kubevirtv1.VirtualMachine{}, &kubevirtv1.VirtualMachineList{}},
		{&kubevirtv1.VirtualMachineInstance{}, &kubevirtv1.VirtualMachineInstanceList{}},
		{&lbv1.LoadBalancer{}, &lbv1.LoadBalancerList{}},
	}
}

// addGarbageCollectors adds a garbage collector for each kind.
func addGarbageCollectors(ctx context.Context, set *controllers.Set) error {
	kinds := collectedKinds()
	for _, kind := range kinds {
		if err := set.IndexField(ctx, kind.object, ownerField, ownersOf); err != nil {
			return err
		}
		gvk, err := apiutil.GVKForObject(kind.object, set.Client().Scheme())
		if err != nil {
			return err
		}
		b := set.Controller("garbage-" + gvk.Kind).For(kind.object)
		for _, owner := range kinds {
			b.Watches(owner.object, ownedBy(set.Client(), kind.list))
		}
		r := &garbageCollector{client: set.Client(), live: set.APIReader(), kind: kind.object, kinds: kinds}
		if err := b.Complete(r); err != nil {
			return err
		}
	}
	return nil
}

func ownersOf(obj client.Object) []string {
	var owners []string
	for _, ref := range obj.GetOwnerReferences() {
		owners = append(owners, string(ref.UID))
	}
	return owners
}

// ownedBy enqueues the objects owned by a deleted object, and the owners of a deleted object.
func ownedBy(c client.Reader, list client.ObjectList) handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			owned := list.DeepCopyObject().(client.ObjectList)
			err := c.List(ctx, owned, client.MatchingFields{ownerField: string(e.Object.GetUID())})
			for _, request := range controllers.Requests(ctx, owned, err) {
				queue.Add(request)
			}
			for _, ref := range e.Object.GetOwnerReferences() {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: e.Object.GetNamespace(), Name: ref.Name}})
			}
		},
	}
}

// Reconcile deletes an object whose owners no longer exist, or the objects owned by an object in foreground deletion.
func (r *garbageCollector) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	obj := r.kind.DeepCopyObject().(client.Object)
	if err := r.client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if obj.GetDeletionTimestamp() != nil {
		if controllerutil.ContainsFinalizer(obj, metav1.FinalizerDeleteDependents) {
			return ctrl.Result{}, r.deleteDependents(ctx, obj)
		}
		return ctrl.Result{}, nil
	}
	for _, ref := range obj.GetOwnerReferences() {
		if there, err := r.exists(ctx, obj.GetNamespace(), ref); err != nil || there {
			return ctrl.Result{}, err
		}
	}
	if len(obj.GetOwnerReferences()) == 0 {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.remove(ctx, obj, metav1.DeletePropagationBackground)
}

func (r *garbageCollector) remove(ctx context.Context, obj client.Object, how metav1.DeletionPropagation) error {
	uid := obj.GetUID()
	if err := r.client.Delete(ctx, obj, client.Preconditions{UID: &uid}, client.PropagationPolicy(how)); controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("deleting %s: %w", obj.GetName(), err)
	}
	return nil
}

// exists reports whether the referenced object exists, with the same UID. Objects of unknown kinds are assumed to exist.
func (r *garbageCollector) exists(ctx context.Context, namespace string, ref metav1.OwnerReference) (bool, error) {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	typed, err := r.client.Scheme().New(gvk)
	if runtime.IsNotRegisteredError(err) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	owner, ok := typed.(client.Object)
	if !ok {
		return true, nil
	}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if r.client.Get(ctx, key, owner) == nil && owner.GetUID() == ref.UID {
		return true, nil
	}
	// It may be newer than the cache.
	if err := r.live.Get(ctx, key, owner); apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("getting owner: %w", err)
	}
	return owner.GetUID() == ref.UID, nil
}

// deleteDependents deletes the objects owned by an object, and removes its finalizer once all blocking ones are deleted.
func (r *garbageCollector) deleteDependents(ctx context.Context, obj client.Object) error {
	blocked := false
	for _, kind := range r.kinds {
		owned := kind.list.DeepCopyObject().(client.ObjectList)
		if err := r.client.List(ctx, owned, client.MatchingFields{ownerField: string(obj.GetUID())}); err != nil {
			return fmt.Errorf("listing the dependents of %s: %w", obj.GetName(), err)
		}
		err := meta.EachListItem(owned, func(item runtime.Object) error {
			each := item.(client.Object)
			blocked = blocked || blocks(each, obj.GetUID())
			if each.GetDeletionTimestamp() != nil {
				return nil
			}
			return r.remove(ctx, each, metav1.DeletePropagationForeground)
		})
		if err != nil {
			return err
		}
	}
	if blocked {
		return nil
	}
	return controllers.RemoveFinalizers(ctx, r.client, obj, metav1.FinalizerDeleteDependents)
}

func blocks(obj client.Object, owner types.UID) bool {
	for _, ref := range obj.GetOwnerReferences() {
		if ref.UID == owner && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			return true
		}
	}
	return false
}
