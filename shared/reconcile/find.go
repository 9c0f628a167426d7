// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/faultline-io/faultline/shared/watch"
)

// Find reads an object into the given one and returns it, or nil if it does not exist. A name that a client refuses to send, such as "50%",
// is the name of no object: users write names in fields that no webhook validates. Other errors name the object.
func Find[T client.Object](ctx context.Context, reader client.Reader, key client.ObjectKey, into T) (T, error) {
	var none T
	if len(content.IsPathSegmentName(key.Name)) > 0 {
		return none, nil
	}
	if err := reader.Get(ctx, key, into); err != nil {
		if apierrors.IsNotFound(err) {
			return none, nil
		}
		return none, fmt.Errorf("reading %T %s: %w", into, key, err)
	}
	return into, nil
}

// OwnerCluster returns the Cluster that owns an infrastructure cluster. It returns nil while none exists: wait until the
// Cluster controller sets the owner reference. It also returns nil for an externally managed infrastructure cluster, which another
// program reconciles. It returns an empty Cluster for an object that is being deleted and has no Cluster any more.
func OwnerCluster(ctx context.Context, reader client.Reader, obj client.Object) (*clusterv1.Cluster, error) {
	if annotations.IsExternallyManaged(obj) {
		return nil, nil
	}
	for _, ref := range obj.GetOwnerReferences() {
		if ref.Kind == "Cluster" && schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group == clusterv1.GroupVersion.Group {
			owner, err := Find(ctx, reader, client.ObjectKey{Namespace: obj.GetNamespace(), Name: ref.Name}, &clusterv1.Cluster{})
			if err != nil || owner != nil {
				return owner, err
			}
		}
	}
	if !obj.GetDeletionTimestamp().IsZero() {
		return &clusterv1.Cluster{}, nil
	}
	return nil, nil
}

// OwnerMachine returns the Machine that owns an object, or nil if none exists.
func OwnerMachine(ctx context.Context, reader client.Client, obj client.Object) (*clusterv1.Machine, error) {
	owner, err := util.GetOwnerMachine(ctx, reader, metav1.ObjectMeta{Namespace: obj.GetNamespace(), OwnerReferences: obj.GetOwnerReferences()})
	return owner, client.IgnoreNotFound(err)
}

// ClusterOf returns the Cluster that an object's cluster name label names, or nil if none exists.
func ClusterOf(ctx context.Context, reader client.Reader, obj client.Object) (*clusterv1.Cluster, error) {
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil, nil
	}
	return Find(ctx, reader, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, &clusterv1.Cluster{})
}

// InfraCluster returns a map function that maps a Cluster, or any object with the cluster name label, to its infrastructure
// cluster if that is of the given kind.
func InfraCluster(reader client.Reader, kind schema.GroupKind) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []ctrl.Request {
		cluster, is := o.(*clusterv1.Cluster)
		if !is {
			var err error
			if cluster, err = ClusterOf(ctx, reader, o); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to find the cluster of an event", "object", client.ObjectKeyFromObject(o))
			}
		}
		if cluster == nil || cluster.Spec.InfrastructureRef.GroupKind() != kind {
			return nil
		}
		return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}}}
	}
}

// Owners holds the objects that an infrastructure machine belongs to. Each is nil if it does not exist.
type Owners[T client.Object] struct {
	Machine *clusterv1.Machine
	Cluster *clusterv1.Cluster
	// InfraCluster is the Cluster's infrastructure cluster.
	InfraCluster T
}

// OwnersOf returns the owners of an infrastructure machine; into is an empty infrastructure cluster. leave reports that the
// caller must not act yet, because Cluster API has not set the Machine or the Cluster. A machine that is being deleted needs
// neither.
func OwnersOf[T client.Object](ctx context.Context, reader client.Client, infra client.Object, into T) (of Owners[T], leave bool, err error) {
	if of.Machine, err = OwnerMachine(ctx, reader, infra); err != nil {
		return of, false, err
	}
	if of.Cluster, err = ClusterOf(ctx, reader, infra); err != nil {
		return of, false, err
	}
	if of.Cluster != nil {
		key := client.ObjectKey{Namespace: of.Cluster.Namespace, Name: of.Cluster.Spec.InfrastructureRef.Name}
		of.InfraCluster, err = Find(ctx, reader, key, into)
	}
	return of, (of.Machine == nil || of.Cluster == nil) && infra.GetDeletionTimestamp().IsZero(), err
}

// Orphaned returns the infrastructure cluster of an object that is being deleted and whose Cluster no longer exists. It matches
// the cluster name label that both carry, and returns nil if the result is ambiguous. list is an empty list of infrastructure
// clusters.
func Orphaned[T client.Object](ctx context.Context, reader client.Reader, obj client.Object, list client.ObjectList) (T, error) {
	var none T
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return none, nil
	}
	if err := reader.List(ctx, list, client.InNamespace(obj.GetNamespace())); err != nil {
		return none, fmt.Errorf("finding the infrastructure of Cluster %s: %w", name, err)
	}
	var found []T
	_ = meta.EachListItem(list, func(o runtime.Object) error { // it fails only if list is not a list
		if infra := o.(T); watch.ClusterName(infra) == name {
			found = append(found, infra)
		}
		return nil
	})
	if len(found) != 1 {
		return none, nil
	}
	return found[0], nil
}

// Remaining lists, as "kind name", the objects that still belong to the Cluster of an infrastructure cluster that is being
// deleted. lists maps each kind to an empty list of it. It returns none for
// an infrastructure cluster that never had a Cluster.
func Remaining(ctx context.Context, reader client.Reader, infra client.Object, lists map[string]client.ObjectList) ([]string, error) {
	ours := watch.OfInfrastructure(infra)
	if ours.Name == "" {
		return nil, nil // it never had a Cluster, so no machine
	}
	var names []string
	for _, kind := range slices.Sorted(maps.Keys(lists)) {
		if err := reader.List(ctx, lists[kind], ours, client.UnsafeDisableDeepCopy); err != nil { // only names are read
			return nil, fmt.Errorf("listing %ss: %w", kind, err)
		}
		_ = meta.EachListItem(lists[kind], func(o runtime.Object) error { // it fails only if the value is not a list
			names = append(names, kind+" "+o.(client.Object).GetName())
			return nil
		})
	}
	return names, nil
}
