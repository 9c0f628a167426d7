// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package controllers_test

import (
	"context"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

func TestPoolWriteBackoff(t *testing.T) {
	// Not parallel to other tests, whose pools the policy would change.
	person := integration.NewUser(t, user)
	quarrel, config := person.Contention(apiServer, "")
	w := &poolFixture{WithT: person.G, t: t, name: "quarrel"}
	integration.Start(t, config, user.RESTMapper(), ctrl.Options{Scheme: scheme}, func(ctx context.Context, mgr ctrl.Manager) error {
		r := &controllers.IPPoolReconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Addresses: ipam.NewAllocator(mgr.GetClient(), mgr.GetAPIReader()),
			Recorder: manager.Recorder(mgr, "ippool"), Filter: watch.Filter(w.name),
		}
		return r.SetupWithManager(ctx, mgr, watch.Concurrency(4))
	})
	pool := w.pool("quarrel", "10.61.0.0/24")
	w.waitForReady("quarrel", "")
	quarrel.About(integration.Marked{Object: pool, Mark: lbv1.IPPoolFinalizer})
}
