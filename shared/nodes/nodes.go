// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes connects machines with their Nodes in workload clusters: it finds and watches Nodes, and writes to them what a
// cloud provider would. Its Reconciler labels the Nodes of every provider with the placement of their machines: zone and region,
// as a cloud provider would, and the logical failure domain. A provider with further labels for its Nodes implements LabelSource.
//
// Zone and region are those of the failure domain in which the machine was observed. They are only set if no other client has set
// them; a Node that a cloud provider must still initialize waits for it. The set labels are recorded in an annotation of the
// Node, and updated or removed when the machine is in another domain, unless another client has changed them. All labels of a
// Node are written in one request with the resourceVersion that was read. If nothing differs, no request is sent.
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

// uninitialized on a Node is the taint of a kubelet that expects a cloud provider to initialize the Node.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// Uninitialized reports whether a cloud provider must still initialize the Node. It sets zone and region when it does.
func Uninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isUninitialized)
}

// Initialize removes the taint from a Node that no cloud provider initializes, so that it can be used.
func Initialize(node *corev1.Node) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isUninitialized)
}

func isUninitialized(taint corev1.Taint) bool { return taint.Key == uninitialized }

// Watch enqueues infrastructure machines when Nodes of workload clusters change.
type Watch struct {
	// Name distinguishes the watch from others of the same cluster.
	Name      string
	Workloads clustercache.ClusterCache
	// Controller is the controller for which requests are enqueued.
	Controller clustercache.SourceWatcher[ctrl.Request]
	// Identity returns the fields of a Node that identify its machine. Changes of other fields, such as heartbeats, enqueue
	// nothing.
	Identity func(*corev1.Node) string
}

// Start starts to watch Nodes of the workload cluster and enqueues the requests that machines returns. It does nothing if the
// watch already exists.
func (w Watch) Start(ctx context.Context, cluster client.ObjectKey, machines handler.MapFunc) error {
	return w.Workloads.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.WatcherOptions{
		Name: w.Name, Watcher: w.Controller, Kind: &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(machines),
		Predicates: []predicate.TypedPredicate[client.Object]{predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return w.Identity(e.ObjectOld.(*corev1.Node)) != w.Identity(e.ObjectNew.(*corev1.Node))
		}}},
	}))
}

// By lists the Nodes found by any of the indexes, in the order of the indexes.
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

// Addresses converts the addresses of a machine to those of its Node.
func Addresses(of []clusterv1.MachineAddress) []corev1.NodeAddress {
	addresses := make([]corev1.NodeAddress, 0, len(of))
	for _, address := range of {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(address.Type), Address: address.Address})
	}
	return addresses
}

// SetAddresses sets the addresses in the Node's status, as a cloud provider does. A kubelet that waits for a cloud provider only
// reports its host name, and keeps the addresses that are set.
func SetAddresses(ctx context.Context, workloads clustercache.ClusterCache, cluster client.ObjectKey, node *corev1.Node, addresses []corev1.NodeAddress) error {
	workload, err := workloads.GetClient(ctx, cluster)
	if err != nil {
		return err
	}
	before := node.DeepCopy()
	node.Status.Addresses = addresses
	// The list may have several addresses of one type, which a strategic merge patch would merge into one.
	if err := workload.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patching the status of Node %s: %w", node.Name, err)
	}
	return nil
}

// Patch applies a change to a Node of the workload cluster. It returns a conflict if the Node has changed.
func Patch(ctx context.Context, workloads clustercache.ClusterCache, cluster client.ObjectKey, node *corev1.Node, change func(*corev1.Node)) error {
	workload, err := workloads.GetClient(ctx, cluster)
	if err != nil {
		return err
	}
	before := node.DeepCopy()
	change(node)
	// Other clients also write the list of taints.
	if err := workload.Patch(ctx, node, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patching Node %s: %w", node.Name, err)
	}
	return nil
}
