// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"fmt"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Source feeds the Inventory from the informer and enqueues machines when the Inventory calls enqueue. Its controller starts once
// the Inventory holds all hosts.
type Source struct {
	Inventory *Inventory

	cache cache.Cache

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	read  toolscache.ResourceEventHandlerRegistration
}

var _ source.SyncingSource = &Source{}

// NewSource returns a source with an empty inventory.
func NewSource(c cache.Cache) *Source {
	s := &Source{cache: c}
	s.Inventory = NewInventory(s.enqueue)
	return s
}

// Start implements source.Source.
func (s *Source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	informer, err := s.cache.GetInformer(ctx, &bmov1alpha1.BareMetalHost{})
	if err != nil {
		return fmt.Errorf("watching BareMetalHosts: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = queue
	s.read, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    s.upsert,
		UpdateFunc: func(_, now any) { s.upsert(now) },
		DeleteFunc: s.delete,
	})
	if err != nil {
		return fmt.Errorf("watching BareMetalHosts: %w", err)
	}
	return nil
}

// WaitForSync implements source.SyncingSource.
func (s *Source) WaitForSync(ctx context.Context) error {
	s.mu.Lock()
	read := s.read
	s.mu.Unlock()
	if !toolscache.WaitForCacheSync(ctx.Done(), read.HasSynced) {
		return fmt.Errorf("reading BareMetalHosts: %w", context.Cause(ctx))
	}
	return nil
}

func (s *Source) upsert(o any) {
	if host, ok := o.(*bmov1alpha1.BareMetalHost); ok {
		s.Inventory.Upsert(Observe(host))
	}
}

func (s *Source) delete(o any) {
	if unknown, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	if host, ok := o.(*bmov1alpha1.BareMetalHost); ok {
		s.Inventory.Delete(types.NamespacedName{Namespace: host.Namespace, Name: host.Name})
	}
}

// enqueue is called by the Inventory only after Start, because machines ask only once the controller runs.
func (s *Source) enqueue(machine types.NamespacedName) {
	s.queue.Add(reconcile.Request{NamespacedName: machine})
}
