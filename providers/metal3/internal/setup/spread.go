// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/metal3/internal/provider"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/spread"
	"github.com/faultline-io/faultline/shared/watch"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch;delete

// addSpread adds what gives workers their failure domains.
func addSpread(ctx context.Context, mgr ctrl.Manager, o Options, metrics *distribution.Metrics) error {
	c := mgr.GetClient()
	if err := (&spread.Reconciler{
		Client: c, Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("spread"), Clock: clock.RealClock{}, Metrics: metrics,
		Provider: provider.Metal3{Client: c},
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Workers(o.Spread)); err != nil {
		return fmt.Errorf("adding controller that spreads workers: %w", err)
	}
	return nil
}
