// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watch calls look with a reader, and again after each event of a kind that look has read in the namespace, until ctx ends or look
// fails. The reader reads from informers, so an event causes no request. A missing permission ends it.
func Watch(ctx context.Context, config *rest.Config, options client.Options, namespace string, look func(context.Context, Reader) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	events := make(chan struct{}, 1)
	informers, err := cache.New(config, cache.Options{
		Scheme: options.Scheme, Mapper: options.Mapper, DefaultTransform: cache.TransformStripManagedFields(),
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			if missing := missingRight(err, namespace); missing != nil {
				stop(missing)
			}
		},
		NewInformer: func(source toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			informer := toolscache.NewSharedIndexInformer(source, kind, resync, indexers)
			_, _ = informer.AddEventHandler(notifier(events)) // It only fails after the informer has stopped.
			return informer
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
	informers.WaitForCacheSync(ctx)          // Reading fails until it has started.
	for {
		err := look(ctx, Reader{Client: reading})
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ended(ctx)
		case <-events:
		}
	}
}

// notifier records that something has changed. Changes that arrive before the next look are observed together.
func notifier(events chan<- struct{}) toolscache.ResourceEventHandler {
	notify := func(any) {
		select {
		case events <- struct{}{}:
		default:
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, object any) { notify(object) }, DeleteFunc: notify}
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
