// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/watch"
)

const (
	controllerName = "nodelabels"
	// nodeIndex is the cache index of Machines by the name of their Node, which is not unique across clusters.
	nodeIndex = "nodelabels.status.nodeRef.name"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.Machine{}, nodeIndex, nodeOf); err != nil {
		return fmt.Errorf("indexing Machines by Node: %w", err)
	}
	kind, err := apiutil.GVKForObject(r.Provider.NewMachine(), mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("labelling Nodes: %w", err)
	}
	r.machines = machines{client: mgr.GetClient(), kind: kind.GroupKind()}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(r.Provider.NewMachine(), builder.WithPredicates(moved(r.Provider), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(util.MachineToInfrastructureMapFunc(kind)), builder.WithPredicates(joined())).
		Watches(r.Provider.NewCluster(), handler.EnqueueRequestsFromMapFunc(r.machines.ofInfraCluster), builder.WithPredicates(redescribed())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.machines.ofCluster),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		WatchesRawSource(r.Workloads.GetClusterSource(controllerName, r.machines.ofCluster))
	if r.Source != nil {
		for _, w := range r.Source.Watches() {
			b = b.Watches(w.Object, handler.EnqueueRequestsFromMapFunc(w.Machines), builder.WithPredicates(w.Changed))
		}
	}
	r.controller, err = b.Build(r)
	return err
}

func nodeOf(o client.Object) []string {
	if node := o.(*clusterv1.Machine).Status.NodeRef; node.IsDefined() {
		return []string{node.Name}
	}
	return nil
}

// watchNodes starts to enqueue machines when their Nodes in a workload cluster change. It does nothing if the watch already
// exists.
func (r *Reconciler) watchNodes(ctx context.Context, cluster client.ObjectKey) error {
	return r.Workloads.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.WatcherOptions{
		Name: controllerName, Watcher: r.controller, Kind: &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, node client.Object) []ctrl.Request {
			return r.machines.with(ctx, cluster, client.MatchingFields{nodeIndex: node.GetName()})
		}),
		Predicates: []predicate.TypedPredicate[client.Object]{relabelled()},
	}))
}

// StripNode drops the fields of a Node on which its labels do not depend. Use it as transform for the cache of workload clusters.
func StripNode(node *corev1.Node) {
	node.ManagedFields, node.OwnerReferences = nil, nil
	node.Spec, node.Status = corev1.NodeSpec{Taints: node.Spec.Taints}, corev1.NodeStatus{}
	maps.DeleteFunc(node.Annotations, func(key, _ string) bool {
		return key != faultlinev1.LabelsFromMachineAnnotation && key != formerRecord() && key != faultlinev1.FailureDomainAnnotation
	})
}

// machines finds the machines of an infrastructure that have Nodes: others have no labels to change.
type machines struct {
	client client.Reader
	kind   schema.GroupKind
}

func (m machines) ofInfraCluster(ctx context.Context, o client.Object) []ctrl.Request {
	return m.with(ctx, client.ObjectKey(watch.OfInfrastructure(o)))
}

func (m machines) ofCluster(ctx context.Context, o client.Object) []ctrl.Request {
	return m.with(ctx, client.ObjectKeyFromObject(o))
}

func (m machines) with(ctx context.Context, cluster client.ObjectKey, which ...client.ListOption) []ctrl.Request {
	list := &clusterv1.MachineList{}
	if err := m.client.List(ctx, list, append(which, watch.OfCluster(cluster), client.UnsafeDisableDeepCopy)...); err != nil { // read only
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list Machines for an event", "cluster", cluster)
		return nil
	}
	var requests []ctrl.Request
	for i := range list.Items {
		if machine := &list.Items[i]; machine.Status.NodeRef.IsDefined() && machine.Spec.InfrastructureRef.GroupKind() == m.kind {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}})
		}
	}
	return requests
}
