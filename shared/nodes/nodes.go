// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes ties machines to their Nodes in workload clusters: it finds Nodes, hears of them, and writes to them what a cloud
// provider would. Its Reconciler labels the Nodes of every provider with where their machines are: their zone and region, as labels that a
// cloud provider would set, and their logical failure domain. A provider that has further labels for its Nodes is a LabelSource of them.
//
// Zone and region are those of the failure domain that the machine is observed to be in, and are only set where nobody else has: a
// Node that a cloud provider has yet to initialize waits for it. What was set is noted on the Node, and corrected or taken off when
// the machine is in another domain, as long as it is what was set. All labels of a Node are written in one request, which carries
// the version that was read; a Node that has its labels costs no request.
package nodes

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// uninitialized is the taint of a Node whose kubelet expects a cloud provider to initialize it.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// Uninitialized reports whether a cloud provider has yet to initialize the Node. It sets zone and region when it does.
func Uninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isUninitialized)
}

// Initialize lets a Node be used that no cloud provider initializes.
func Initialize(node *corev1.Node) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isUninitialized)
}

func isUninitialized(taint corev1.Taint) bool { return taint.Key == uninitialized }

// Watch is whom Nodes of workload clusters wake.
type Watch struct {
	// Name tells the watch from others of the same cluster.
	Name      string
	Workloads clustercache.ClusterCache
	// Controller is the one whose objects are woken.
	Controller clustercache.SourceWatcher[ctrl.Request]
	// Identity is what of a Node tells whose it is. Changes of anything else, such as heartbeats, wake nobody.
	Identity func(*corev1.Node) string
}

// Start makes Nodes of the workload cluster wake the machines that are named. It does nothing when they do already.
func (w Watch) Start(ctx context.Context, cluster client.ObjectKey, machines handler.MapFunc) error {
	return w.Workloads.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.WatcherOptions{
		Name: w.Name, Watcher: w.Controller, Kind: &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(machines),
		Predicates: []predicate.TypedPredicate[client.Object]{predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return w.Identity(e.ObjectOld.(*corev1.Node)) != w.Identity(e.ObjectNew.(*corev1.Node))
		}}},
	}))
}

// By lists the Nodes that one of the indexes finds, in their order.
func By(ctx context.Context, reader client.Reader, indexes ...client.MatchingFields) ([]corev1.Node, error) {
	var found []corev1.Node
	for _, by := range indexes {
		list := &corev1.NodeList{}
		if err := reader.List(ctx, list, by); err != nil {
			return nil, fmt.Errorf("listing Nodes by %v: %w", by, err)
		}
		found = append(found, list.Items...)
	}
	return found, nil
}

// Addresses are those of a machine, as its Node has them.
func Addresses(of []clusterv1.MachineAddress) []corev1.NodeAddress {
	addresses := make([]corev1.NodeAddress, 0, len(of))
	for _, address := range of {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(address.Type), Address: address.Address})
	}
	return addresses
}

// SetAddresses tells the Node where it is reached, as a cloud provider does. A kubelet that waits for one says no more than its name, and
// leaves what it is told.
func SetAddresses(ctx context.Context, workloads clustercache.ClusterCache, cluster client.ObjectKey, node *corev1.Node, addresses []corev1.NodeAddress) error {
	workload, err := workloads.GetClient(ctx, cluster)
	if err != nil {
		return err
	}
	before := node.DeepCopy()
	node.Status.Addresses = addresses
	// The list may have several addresses of one type, which a strategic merge would take for one.
	if err := workload.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patching the status of Node %s: %w", node.Name, err)
	}
	return nil
}

// Patch changes a Node of the workload cluster.
func Patch(ctx context.Context, workloads clustercache.ClusterCache, cluster client.ObjectKey, node *corev1.Node, change func(*corev1.Node)) error {
	workload, err := workloads.GetClient(ctx, cluster)
	if err != nil {
		return err
	}
	before := node.DeepCopy()
	change(node)
	// Taints are a list that others write to, too.
	if err := workload.Patch(ctx, node, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patching Node %s: %w", node.Name, err)
	}
	return nil
}
