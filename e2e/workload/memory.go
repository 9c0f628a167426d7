// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// newMemory returns the store for all simulated clusters, which it keeps separate.
func newMemory() (inmemoryruntime.Manager, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme), storagev1.AddToScheme(scheme),
		policyv1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("registering the workload clusters' types: %w", err)
	}
	return inmemoryruntime.NewManager(scheme), nil
}

// notifier enqueues a cluster for changes that are not in the management API. It does nothing until the controller runs.
type notifier struct {
	mu     sync.Mutex
	queues []workqueue.TypedRateLimitingInterface[reconcile.Request] // one per simulator
}

func (n *notifier) attach(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queues = append(n.queues, queue)
}

func (n *notifier) notify(cluster client.ObjectKey) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, queue := range n.queues {
		queue.Add(reconcile.Request{NamespacedName: cluster})
	}
}

// watchMemory is the controller's source of changes that clients make in simulated clusters. Only the removal of an etcd member matters.
func (s *Simulator) watchMemory(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.notifier.attach(queue)
	if s.options.With != nil {
		return nil // which notifies both
	}
	pods, err := s.memory.GetCache().GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	nodes, err := s.memory.GetCache().GetInformer(ctx, &corev1.Node{})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	return errors.Join(pods.AddEventHandler(s.notifier), nodes.AddEventHandler(s.notifier))
}

// OnUpdate enqueues a cluster that loses an etcd member. It is called with the store locked, so it must not read from it.
func (n *notifier) OnUpdate(group string, _, object client.Object) {
	_, removed := object.GetAnnotations()[inmemory.EtcdMemberRemoved] // of a Pod
	if removed || leavesEtcd(object) {
		namespace, name, _ := strings.Cut(group, "/")
		n.notify(client.ObjectKey{Namespace: namespace, Name: name})
	}
}

// OnCreate does nothing.
func (*notifier) OnCreate(string, client.Object) {}

// OnDelete does nothing.
func (*notifier) OnDelete(string, client.Object) {}

// OnGeneric does nothing.
func (*notifier) OnGeneric(string, client.Object) {}
