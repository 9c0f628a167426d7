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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
func OwnerCluster(ctx context.Context, reader client.Client, obj client.Object) (*clusterv1.Cluster, error) {
	owner, err := util.GetOwnerCluster(ctx, reader, metav1.ObjectMeta{Namespace: obj.GetNamespace(), OwnerReferences: obj.GetOwnerReferences()})
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if owner == nil && !obj.GetDeletionTimestamp().IsZero() {
		return &clusterv1.Cluster{}, nil
	}
	return owner, nil
}

// ClusterOf finds the Cluster that the label of an object names, nil when there is none.
func ClusterOf(ctx context.Context, reader client.Reader, obj client.Object) (*clusterv1.Cluster, error) {
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil, nil
	}
	return Find(ctx, reader, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, &clusterv1.Cluster{})
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
