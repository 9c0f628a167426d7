// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers holds the common parts of the controllers of a simulated Harvester: setup, delays, the faults that keep
// them from working, and conditions of instances.
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

// Set collects the controllers of the parts.
type Set struct {
	manager ctrl.Manager
	workers int
	faults  *FaultTable
}

// New returns a Set for a manager. Its controllers process this many objects in parallel, and enqueue objects when faults begin
// or end.
func New(mgr ctrl.Manager, workers int, faults *FaultTable) *Set {
	return &Set{manager: mgr, workers: workers, faults: faults}
}

// Client returns the cached client of the controllers.
func (s *Set) Client() client.Client { return s.manager.GetClient() }

// APIReader returns a reader for the API server.
func (s *Set) APIReader() client.Reader { return s.manager.GetAPIReader() }

// Faults returns the faults that keep the controllers from working.
func (s *Set) Faults() *FaultTable { return s.faults }

// Controller returns the builder of a controller with this name.
func (s *Set) Controller(name string) *builder.Builder {
	return ctrl.NewControllerManagedBy(s.manager).Named(name + "-simulator").
		WithOptions(controller.Options{MaxConcurrentReconciles: s.workers, SkipNameValidation: ptr.To(true)})
}

// IndexField indexes objects of a kind by a field.
func (s *Set) IndexField(ctx context.Context, of client.Object, field string, values client.IndexerFunc) error {
	if err := s.manager.GetFieldIndexer().IndexField(ctx, of, field, values); err != nil {
		return fmt.Errorf("indexing by %s: %w", field, err)
	}
	return nil
}

// EnqueueOnFaultChange enqueues all objects of a kind when faults begin or end.
func (s *Set) EnqueueOnFaultChange(list client.ObjectList) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.faults.OnChange(func() {
			every := list.DeepCopyObject().(client.ObjectList)
			err := s.Client().List(ctx, every)
			for _, request := range Requests(ctx, every, err) {
				queue.Add(request)
			}
		})
		return nil
	})
}

// EnqueueByField enqueues the objects whose field contains the name of the changed object, in its namespace if it has one.
func (s *Set) EnqueueByField(list client.ObjectList, field string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		found := list.DeepCopyObject().(client.ObjectList)
		err := s.Client().List(ctx, found, client.InNamespace(obj.GetNamespace()), client.MatchingFields{field: obj.GetName()})
		return Requests(ctx, found, err)
	})
}

// Requests returns the requests for the objects of a list. An error of listing them is logged.
func Requests(ctx context.Context, list client.ObjectList, err error) []reconcile.Request {
	var requests []reconcile.Request
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
			return nil
		})
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the objects to enqueue")
	}
	return requests
}
