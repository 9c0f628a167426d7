// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers is what the controllers of all parts of a simulated Harvester have in common: how they are added, how long things take, the
// troubles that keep them from their work, and conditions of instances.
package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Set is what the parts add their controllers to.
type Set struct {
	manager  ctrl.Manager
	workers  int
	troubles *TroubleTable
}

// New adds to a manager controllers that work on this many objects at the same time, and look again when troubles begin or end.
func New(mgr ctrl.Manager, workers int, of *TroubleTable) *Set {
	return &Set{manager: mgr, workers: workers, troubles: of}
}

// Client reads what the controllers know.
func (s *Set) Client() client.Client { return s.manager.GetClient() }

// Live reads past the cache.
func (s *Set) Live() client.Reader { return s.manager.GetAPIReader() }

// Troubles are what keeps the controllers from their work.
func (s *Set) Troubles() *TroubleTable { return s.troubles }

// Controller begins one of this name.
func (s *Set) Controller(name string) *builder.Builder {
	return ctrl.NewControllerManagedBy(s.manager).Named(name + "-simulator").
		WithOptions(controller.Options{MaxConcurrentReconciles: s.workers, SkipNameValidation: ptr.To(true)})
}

// Index has objects of a kind found by a field.
func (s *Set) Index(ctx context.Context, of client.Object, field string, values client.IndexerFunc) error {
	if err := s.manager.GetFieldIndexer().IndexField(ctx, of, field, values); err != nil {
		return fmt.Errorf("indexing by %s: %w", field, err)
	}
	return nil
}

// Wakening enqueues all objects of a kind when troubles begin or end.
func (s *Set) Wakening(list client.ObjectList) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.troubles.OnChange(func() {
			every := list.DeepCopyObject().(client.ObjectList)
			err := s.Client().List(ctx, every)
			for _, request := range Requests(ctx, every, err) {
				queue.Add(request)
			}
		})
		return nil
	})
}

// Finding enqueues those whose field has the name of what has changed; in its namespace, if it has one.
func (s *Set) Finding(list client.ObjectList, field string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		found := list.DeepCopyObject().(client.ObjectList)
		err := s.Client().List(ctx, found, client.InNamespace(obj.GetNamespace()), client.MatchingFields{field: obj.GetName()})
		return Requests(ctx, found, err)
	})
}

// Requests are those of the objects of a list. An error of listing them is logged.
func Requests(ctx context.Context, list client.ObjectList, err error) []reconcile.Request {
	var requests []reconcile.Request
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
			return nil
		})
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing what is concerned")
	}
	return requests
}
