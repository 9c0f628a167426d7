// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/vsphere/internal/provider"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/rebalance"
	"github.com/faultline-io/faultline/shared/watch"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=clusterctl.cluster.x-k8s.io,resources=providers,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// addRebalance adds what spreads control planes anew.
func addRebalance(ctx context.Context, mgr ctrl.Manager, o Options, metrics *distribution.Metrics) error {
	if err := (&rebalance.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Provider: provider.VSphere{Client: mgr.GetClient()},
		Recorder: mgr.GetEventRecorder("rebalance"), Clock: clock.RealClock{}, Metrics: metrics,
		KubeadmVersion: o.KubeadmVersion,
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Workers(o.Rebalances)); err != nil {
		return fmt.Errorf("adding rebalance controller: %w", err)
	}
	return nil
}
