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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/faultline-io/faultline/shared/watch"
)

// Find reads an object, and returns nil when there is none.
func Find[T client.Object](ctx context.Context, reader client.Reader, key client.ObjectKey, into T) (T, error) {
	var none T
	if err := reader.Get(ctx, key, into); err != nil {
		if apierrors.IsNotFound(err) {
			return none, nil
		}
		return none, fmt.Errorf("reading %T %s: %w", into, key, err)
	}
	return into, nil
}

// OwnerCluster finds the Cluster that owns an infrastructure cluster. It returns nil as long as there is none, for which the Cluster
// controller has to come first, and an empty Cluster for an object that is being deleted and has none any more.
func OwnerCluster(ctx context.Context, reader client.Reader, obj client.Object) (*clusterv1.Cluster, error) {
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

// OwnerMachine finds the Machine that owns an object, nil when there is none.
func OwnerMachine(ctx context.Context, reader client.Client, obj client.Object) (*clusterv1.Machine, error) {
	owner, err := util.GetOwnerMachine(ctx, reader, metav1.ObjectMeta{Namespace: obj.GetNamespace(), OwnerReferences: obj.GetOwnerReferences()})
	return owner, client.IgnoreNotFound(err)
}

// ClusterOf finds the Cluster that the label of an object names, nil when there is none.
func ClusterOf(ctx context.Context, reader client.Reader, obj client.Object) (*clusterv1.Cluster, error) {
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil, nil
	}
	return Find(ctx, reader, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, &clusterv1.Cluster{})
}

// InfraCluster maps a Cluster, and what belongs to one, by the label that all of it carries, to its infrastructure cluster, if that is of the kind.
func InfraCluster(reader client.Reader, kind schema.GroupKind) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []ctrl.Request {
		cluster, is := o.(*clusterv1.Cluster)
		if !is {
			var err error
			if cluster, err = ClusterOf(ctx, reader, o); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Finding the cluster that an event concerns", "object", client.ObjectKeyFromObject(o))
			}
		}
		if cluster == nil || cluster.Spec.InfrastructureRef.GroupKind() != kind {
			return nil
		}
		return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}}}
	}
}

// Owners are what an infrastructure machine belongs to. Each is nil when it does not exist.
type Owners[T client.Object] struct {
	Machine *clusterv1.Machine
	Cluster *clusterv1.Cluster
	// InfraCluster is what the Cluster has for its infrastructure.
	InfraCluster T
}

// OwnersOf finds what an infrastructure machine belongs to; into is an empty infrastructure cluster. The machine is to be left alone as
// long as it has no Machine or no Cluster, for which Cluster API has to come first. One that is being deleted needs neither.
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

// Orphaned finds the infrastructure cluster of an object that is being deleted and whose Cluster is gone, by the name of that, which both have;
// nil when that is not clear. The list is an empty one of the infrastructure clusters.
func Orphaned[T client.Object](ctx context.Context, reader client.Reader, obj client.Object, list client.ObjectList) (T, error) {
	var none T
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return none, nil
	}
	if err := reader.List(ctx, list, client.InNamespace(obj.GetNamespace())); err != nil {
		return none, fmt.Errorf("looking for the infrastructure of Cluster %s: %w", name, err)
	}
	var found []T
	_ = meta.EachListItem(list, func(o runtime.Object) error { // it fails only for what is no list
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

// Remaining names what of these kinds still belongs to the Cluster of an infrastructure cluster that is being deleted, by kind and name.
// The lists are empty ones of the kinds.
func Remaining(ctx context.Context, reader client.Reader, infra client.Object, lists map[string]client.ObjectList) ([]string, error) {
	ours := watch.OfInfrastructure(infra)
	if ours.Name == "" {
		return nil, nil // it never had a Cluster, so no machine
	}
	var names []string
	for _, kind := range slices.Sorted(maps.Keys(lists)) {
		if err := reader.List(ctx, lists[kind], ours, client.UnsafeDisableDeepCopy); err != nil { // they are only named
			return nil, fmt.Errorf("listing %ss: %w", kind, err)
		}
		_ = meta.EachListItem(lists[kind], func(o runtime.Object) error { // it fails only for what is no list
			names = append(names, kind+" "+o.(client.Object).GetName())
			return nil
		})
	}
	return names, nil
}
