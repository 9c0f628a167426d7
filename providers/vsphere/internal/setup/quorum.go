// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/vsphere/internal/provider"
	"github.com/faultline-io/faultline/shared/quorum"
	"github.com/faultline-io/faultline/shared/watch"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=get;list;watch

// addQuorum adds what holds machines of control planes that have no hook of their own.
func addQuorum(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := (&quorum.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Provider: provider.VSphere{Client: mgr.GetClient()}, Recorder: mgr.GetEventRecorder("quorum"),
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Workers(o.Rebalances)); err != nil {
		return fmt.Errorf("adding quorum controller: %w", err)
	}
	return nil
}
