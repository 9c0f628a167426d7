// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testworld is for tests that share an API server and have a namespace and a manager each. Its Rows are what
// users get wrong about failure domains: what they do, what a condition then says, and that no machine is moved for it. Every provider plays
// all rows in one World, with its own kinds and its manager.
package testworld

import (
	"context"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/shared/manager"
)

// Start runs a manager with what add gives it until stop or the end of the test, whichever comes first; the context of add ends
// then too. The manager has controllers as in production, whatever their names, as others run in the same process, and serves no
// metrics. With a mapper, which all of them can share, it does not ask the API server for its kinds. Where it does not end well,
// the test fails with what still runs.
func Start(t *testing.T, api *rest.Config, mapper meta.RESTMapper, options ctrl.Options, add func(context.Context, ctrl.Manager) error) (stop func()) {
	t.Helper()
	options.Metrics.BindAddress = "0"
	options.Controller = manager.ControllerOptions()
	options.Controller.SkipNameValidation = ptr.To(true)
	if mapper != nil {
		options.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil }
	}
	mgr, err := ctrl.NewManager(api, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // What the test cleans up is reconciled, too.
	done := make(chan error, 1)
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			running := &strings.Builder{}
			_ = pprof.Lookup("goroutine").WriteTo(running, 1)
			t.Errorf("the manager does not stop: %v\n%s", err, running)
		}
	})
	if err := add(ctx, mgr); err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(stop)
	return stop
}
