// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

// Watch calls show with the reports on clusters, and again after each event of one of their objects, until ctx ends. It reads from
// informers, so an event causes no request. A missing permission ends it.
func Watch(ctx context.Context, config *rest.Config, options client.Options, scope Scope, show func([]report.Cluster) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	informers, err := cache.New(config, cache.Options{
		Scheme: options.Scheme, Mapper: options.Mapper, DefaultTransform: cache.TransformStripManagedFields(),
		DefaultNamespaces: map[string]cache.Config{scope.Namespace: {}},
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			if missing := missingRight(err, scope.Namespace); missing != nil {
				stop(missing)
			}
		},
	})
	if err != nil {
		return err
	}
	options.Cache = &client.CacheOptions{Reader: informers, Unstructured: true}
	reading, err := client.New(config, options)
	if err != nil {
		return err
	}
	go func() { _ = informers.Start(ctx) }() // It only fails if it is started twice.
	w := watching{informers: informers, events: make(chan struct{}, 1), kinds: map[string]bool{}}
	for {
		err := w.look(ctx, Reader{Client: reading}, scope, show)
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ended(ctx)
		case <-w.events:
		}
	}
}

// ended returns why a watch ended, nil if the user ended it.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// missingRight returns the permission that a watch lacks, or nil for an error after which the informer tries again.
func missingRight(err error, namespace string) error {
	for _, verb := range []string{"list", "watch"} {
		var missing MissingRightsError
		if errors.As(Refused(err, verb, namespace), &missing) {
			return missing
		}
	}
	return nil
}

// watching observes the kinds of a watch.
type watching struct {
	informers cache.Cache
	events    chan struct{}
	kinds     map[string]bool
}

// look reports on the clusters once, and has the events of all of their kinds delivered from then on.
func (w watching) look(ctx context.Context, reader Reader, scope Scope, show func([]report.Cluster) error) error {
	clusters, err := reader.Reports(ctx, scope)
	if err != nil {
		return err
	}
	kinds := map[string]client.Object{"Cluster": &clusterv1.Cluster{}, "Machine": &clusterv1.Machine{}}
	for i := range clusters {
		if ref := clusters[i].Infrastructure; ref.Kind != "" {
			infra := &unstructured.Unstructured{}
			infra.SetAPIVersion(ref.APIVersion)
			infra.SetKind(ref.Kind)
			kinds[ref.APIVersion+"/"+ref.Kind] = infra
		}
	}
	for name, kind := range kinds {
		if w.kinds[name] {
			continue
		}
		informer, err := w.informers.GetInformer(ctx, kind)
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc: w.notify, UpdateFunc: func(_, object any) { w.notify(object) }, DeleteFunc: w.notify,
			})
		}
		if err != nil {
			return err
		}
		w.kinds[name] = true
	}
	return show(clusters)
}

// notify records that something has changed. Changes that arrive before the next look are observed together.
func (w watching) notify(any) {
	select {
	case w.events <- struct{}{}:
	default:
	}
}
