// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3machinetemplate"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3remediation"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/watch"
)

// addMaintenance adds the controllers for machines that already have a host.
func addMaintenance(ctx context.Context, mgr ctrl.Manager, o Options, workloads clustercache.ClusterCache, ours *hosts.Hosts) error {
	if err := (&metal3machinetemplate.Reconciler{Client: mgr.GetClient()}).
		SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.MachineTemplates)); err != nil {
		return fmt.Errorf("adding Metal3MachineTemplate controller: %w", err)
	}
	if err := addMachineTemplates(ctx, mgr, o.WatchFilter); err != nil {
		return err
	}
	c := mgr.GetClient()
	if err := (&nodes.Reconciler{Client: c, Provider: placement.Metal3{Client: c}, Workloads: workloads, Source: LabelSource{Client: c}, Recorder: manager.Recorder(mgr, "nodelabels")}).
		SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Labels)); err != nil {
		return fmt.Errorf("adding controller of Nodes' labels: %w", err)
	}
	if err := (&metal3remediation.Reconciler{
		Client: mgr.GetClient(), Hosts: ours, Workloads: workloads, Clock: clock.RealClock{},
		Recorder: manager.Recorder(mgr, "metal3remediation"),
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Remediations)); err != nil {
		return fmt.Errorf("adding Metal3Remediation controller: %w", err)
	}
	return nil
}
