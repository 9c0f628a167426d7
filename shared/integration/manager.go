// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration is for tests that share an API server, with a namespace and a manager each. Its Rows are user errors about
// failure domains with the expected conditions; no machine may be moved because of them. Every provider runs all rows in one
// Environment, with its own kinds and manager.
package integration

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

// Start runs a manager, configured by add, until stop is called or the test ends; the context of add ends then, too. The
// controllers are configured as in production, except that their names need not be unique, because other managers run in the same
// process. The manager serves no metrics. With a mapper, which all managers can share, it skips discovery. If it does not stop
// cleanly, the test fails and shows the goroutines that still run.
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
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // The cleanup of the test must be reconciled, too.
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
