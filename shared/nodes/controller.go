// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler labels the Nodes of a provider's machines. It reads infrastructure machines and clusters, Machines and Clusters, for
// which a provider's manager already has permissions.
type Reconciler struct {
	Client   client.Client
	Provider provider.Provider
	// Workloads provides access to the Nodes of workload clusters. Its cache must keep what StripNode keeps.
	Workloads clustercache.ClusterCache
	// Source provides labels that are specific to this provider; nil for none.
	Source LabelSource
	// Recorder records events about labels that another client removes from Nodes.
	Recorder events.EventRecorder

	filter     watch.Filter
	machines   machines
	controller controller.Controller
	// nodes tracks the last writes to Nodes by name: a Node of another cluster with the same name replaces the entry.
	nodes patch.Expectations
}

// scope holds the state of one reconcile.
type scope struct {
	cluster      *clusterv1.Cluster
	infraCluster provider.Cluster
	machine      *clusterv1.Machine
	infra        client.Object
}

// Reconcile updates the labels of one machine's Node. The request names the infrastructure machine.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.gather(ctx, req.NamespacedName)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	wait, err := r.label(ctx, s)
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return ctrl.Result{}, nil // a new connection triggers another reconcile
	}
	return reconcile.Outcome(ctrl.Result{RequeueAfter: wait}, err)
}

// gather returns nil for a machine without a Node, and for one that is paused: events of other objects end these states.
func (r *Reconciler) gather(ctx context.Context, key client.ObjectKey) (*scope, error) {
	infra, err := reconcile.Find(ctx, r.Client, key, r.Provider.NewMachine())
	if err != nil || infra == nil || !r.filter.Passes(infra) || !infra.GetDeletionTimestamp().IsZero() {
		return nil, err
	}
	machine, err := r.owner(ctx, infra)
	if err != nil || machine == nil {
		return nil, err
	}
	cluster, err := reconcile.ClusterOf(ctx, r.Client, infra)
	if err != nil || cluster == nil || annotations.IsPaused(cluster, infra) {
		return nil, err
	}
	of := client.ObjectKey{Namespace: key.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	infraCluster, err := reconcile.Find(ctx, r.Client, of, r.Provider.NewCluster())
	if err != nil || infraCluster == nil {
		return nil, err
	}
	return &scope{cluster: cluster, infraCluster: infraCluster, machine: machine, infra: infra}, nil
}

// owner returns the Machine of an infrastructure machine; nil while it has no Node.
func (r *Reconciler) owner(ctx context.Context, infra client.Object) (*clusterv1.Machine, error) {
	machine, err := reconcile.OwnerMachine(ctx, r.Client, infra)
	if err != nil || machine == nil || !machine.Status.NodeRef.IsDefined() || !machine.DeletionTimestamp.IsZero() {
		return nil, err
	}
	return machine, nil
}

// label writes the labels that differ. It returns how long to wait if the cache still shows the Node before the last write.
func (r *Reconciler) label(ctx context.Context, s *scope) (wait time.Duration, err error) {
	own, err := r.own(ctx, s)
	if err != nil || own == nil {
		return 0, err
	}
	cluster := client.ObjectKeyFromObject(s.cluster)
	if err := r.watchNodes(ctx, cluster); err != nil {
		return 0, err
	}
	workload, err := r.Workloads.GetClient(ctx, cluster)
	if err != nil {
		return 0, err
	}
	node, err := reconcile.Find(ctx, workload, client.ObjectKey{Name: s.machine.Status.NodeRef.Name}, &corev1.Node{})
	if err != nil || node == nil {
		return 0, err
	}
	if wait := r.nodes.Backoff(node); wait > 0 {
		return wait, nil
	}
	before := node.DeepCopy()
	if !s.apply(node, r.Provider.Location(s.infra).Domain, *own) {
		r.nodes.Forget(client.ObjectKeyFromObject(node)) // the cache shows the write
		return 0, nil
	}
	if err := r.nodes.Repeats.Write(ctx, workload, before, node); err != nil {
		if undone, news := patch.ReportableError(err); news {
			r.Recorder.Eventf(s.infra, nil, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, "LabelNode", "%s", undone)
		}
		return 0, fmt.Errorf("labelling Node %s: %w", node.Name, err)
	}
	r.nodes.Observe(node)
	ctrl.LoggerFrom(ctx).Info("Labelled Node", "node", node.Name, "labels", node.Annotations[faultlinev1.LabelsFromMachineAnnotation])
	return 0, nil
}

// own returns the labels that are specific to this provider; nil while they are unknown.
func (r *Reconciler) own(ctx context.Context, s *scope) (*Labels, error) {
	if r.Source == nil {
		return &Labels{}, nil
	}
	return r.Source.Labels(ctx, s.infraCluster, s.infra)
}

// apply sets the desired labels on the Node in memory, and reports whether they differ.
func (s *scope) apply(node *corev1.Node, domain string, own Labels) bool {
	before := read(node)
	place := topology(*s.infraCluster.FailureDomains(), domain, before)
	if Uninitialized(node) { // wait for the cloud provider; keep labels that are already set
		maps.DeleteFunc(place, func(key, _ string) bool { return !before.labels.Has(key) })
	}
	w := desired{suggested: place, imposed: labels.Set{}, owned: own.Owned}
	maps.Copy(w.imposed, own.Set)
	if key := faultlinev1.Value(s.machine.Labels, faultlinev1.DistributionKeyLabel); key != "" {
		w.imposed[faultlinev1.DistributionKeyLabel] = key
	}
	wanted, note := w.plan(node.Labels, before.labels)
	after := recorded{domain: domain, labels: note}
	_, former := node.Annotations[formerRecord()]
	if maps.Equal(wanted, node.Labels) && after.equal(before) && !former {
		return false
	}
	node.Labels = wanted
	after.write(node)
	return true
}
