// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

// restartPause is the minimum time between a restart of the manager and the next kill. All control planes share it.
const restartPause = 3 * time.Second

// commonEnvironment is the management cluster of all control planes.
type commonEnvironment struct {
	*environment.Environment
	about     provider.Description
	kind      controlPlaneKind
	template  string
	sites     provider.MultiCluster
	apiServer *managementcluster.APIServerFaults // nil if the API server injects no faults

	mu    sync.Mutex // held while the manager is down
	ready time.Time
	kills int
}

// prepare starts the environment. The caller must close it, even on an error. The returned context ends when a part of the environment
// fails.
func (g *commonEnvironment) prepare(ctx context.Context, sited provider.RebalanceProvider, with environment.Options) (_ context.Context, err error) {
	with.Provider, with.APIServer = sited, g.apiServer
	with.Infrastructure = func(programs string) (_ provider.Infrastructure, err error) {
		g.sites, err = sited.MultiCluster(programs)
		return g.sites, err
	}
	if g.Environment, err = environment.New(ctx, with); err != nil {
		return ctx, err
	}
	if ctx, err = g.Start(ctx); err != nil {
		return ctx, err
	}
	if g.template, err = g.kind.template(g.Root, g.about); err != nil {
		return ctx, err
	}
	return ctx, g.apiServer.Set(ctx, true)
}

// kill kills the provider's manager and restarts it, unless it was restarted only recently. It reports whether it did.
func (g *commonEnvironment) kill(ctx context.Context) (bool, error) {
	if !g.mu.TryLock() {
		return false, nil
	}
	defer g.mu.Unlock()
	if time.Since(g.ready) < restartPause {
		return false, nil
	}
	name := binaries.Provider(g.about.Name)
	if err := g.Management.Kill(name); err != nil {
		return false, err
	}
	g.kills++
	err := restart(ctx, g.Management, name)
	g.ready = time.Now()
	return true, err
}

// kinds returns the kinds of the provider and of the control plane.
func (g *commonEnvironment) kinds() kinds {
	return kinds{controlPlane: g.kind, cluster: *g.about.Of(g.about.ClusterKind), machine: *g.about.Of(g.about.MachineKind())}
}

func ofKind(kind schema.GroupVersionKind) unstructured.Unstructured {
	object := unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}
