// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3labelsync keeps the labels of Nodes as those of their hosts, as far as the Metal3Cluster says which, and
// tells Nodes the zone that their failure domain is.
package metal3labelsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/nodelabels"
	"github.com/faultline-io/faultline/shared/watchfilter"
)

// SyncedLabelsAnnotation on a Node lists the labels, with their values, that are there because of its host.
const SyncedLabelsAnnotation = "infrastructure.cluster.x-k8s.io/labels-from-host"

// regionAttribute of a failure domain is the region that its Nodes are in.
const regionAttribute = "region"

// Reconciler drives the labels of the Nodes of Metal3Machines.
type Reconciler struct {
	Client client.Client
	// Workloads reaches the Nodes of workload clusters.
	Workloads clustercache.ClusterCache

	filter     watchfilter.Filter
	controller controller.Controller
}

// scope is what one reconcile knows.
type scope struct {
	cluster      *clusterv1.Cluster
	infraCluster *infrav1.Metal3Cluster
	metal3       *infrav1.Metal3Machine
	host         *bmov1alpha1.BareMetalHost
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines;metal3clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconcile brings the labels of one machine's Node up to date. It writes only when they differ.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.gather(ctx, req.NamespacedName)
	if err != nil || s == nil || annotations.IsPaused(s.cluster, s.metal3) {
		return ctrl.Result{}, err
	}
	// The controllers of the cluster and of the machine tell what is refused.
	prefixes, _ := nodelabels.Prefixes(s.infraCluster.Annotations[infrav1.LabelSyncPrefixesAnnotation])
	err = r.sync(ctx, s, wish{host: s.host.Labels, prefixes: prefixes, derived: s.derived()})
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return ctrl.Result{}, nil // the connection is an event
	}
	return ctrl.Result{}, err
}

// gather returns nil for a machine that has no Node, or none any more: others' events end that.
func (r *Reconciler) gather(ctx context.Context, key client.ObjectKey) (*scope, error) {
	s := &scope{
		metal3: &infrav1.Metal3Machine{}, host: &bmov1alpha1.BareMetalHost{},
		cluster: &clusterv1.Cluster{}, infraCluster: &infrav1.Metal3Cluster{},
	}
	if err := r.Client.Get(ctx, key, s.metal3); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	_, host, _ := strings.Cut(s.metal3.Annotations[infrav1.HostAnnotation], "/")
	if !r.filter.Passes(s.metal3) || !s.metal3.DeletionTimestamp.IsZero() || s.metal3.Spec.ProviderID == "" || host == "" {
		return nil, nil
	}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: host}, s.host); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !hosts.BelongsTo(s.host, key) {
		return nil, nil
	}
	cluster := client.ObjectKey{Namespace: key.Namespace, Name: s.metal3.Labels[clusterv1.ClusterNameLabel]}
	if err := r.Client.Get(ctx, cluster, s.cluster); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	infra := client.ObjectKey{Namespace: key.Namespace, Name: s.cluster.Spec.InfrastructureRef.Name}
	if err := r.Client.Get(ctx, infra, s.infraCluster); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return s, nil
}

// derived are the labels that the machine's failure domain, as observed, stands for.
func (s *scope) derived() labels.Set {
	domain := s.metal3.Status.FailureDomain
	if domain == "" {
		return nil
	}
	set := labels.Set{corev1.LabelTopologyZone: domain}
	for i := range s.infraCluster.Spec.FailureDomains {
		declared := &s.infraCluster.Spec.FailureDomains[i]
		if region := declared.Attributes[regionAttribute]; declared.Name == domain && isLabelValue(region) {
			set[corev1.LabelTopologyRegion] = region
		}
	}
	return set
}

func (r *Reconciler) sync(ctx context.Context, s *scope, w wish) error {
	if err := r.watchNodes(ctx, s); err != nil {
		return err
	}
	node, err := r.node(ctx, s)
	if err != nil || node == nil {
		return err
	}
	noted := readNote(node.Annotations[SyncedLabelsAnnotation])
	wanted, note := w.plan(node.Labels, noted)
	if maps.Equal(wanted, node.Labels) && maps.Equal(note, noted) {
		return nil
	}
	before := node.DeepCopy()
	node.Labels = wanted
	writeNote(node, note)
	workload, err := r.Workloads.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return err
	}
	if err := workload.Patch(ctx, node, client.StrategicMergeFrom(before)); err != nil {
		return fmt.Errorf("labelling Node %s: %w", node.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Labelled Node", "node", node.Name, "labels", note.String())
	return nil
}

// node finds the machine's Node in the cache, nil when it is not there.
func (r *Reconciler) node(ctx context.Context, s *scope) (*corev1.Node, error) {
	reader, err := r.Workloads.GetReader(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return nil, err
	}
	nodes := &corev1.NodeList{}
	if err := reader.List(ctx, nodes, client.MatchingFields{clustercache.NodeProviderIDIndex.Field: s.metal3.Spec.ProviderID}); err != nil {
		return nil, fmt.Errorf("looking for Node %s: %w", s.metal3.Spec.ProviderID, err)
	}
	if len(nodes.Items) != 1 {
		return nil, nil
	}
	return &nodes.Items[0], nil
}
