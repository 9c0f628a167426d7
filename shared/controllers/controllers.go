// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers adds the controllers that work for every infrastructure to a provider's manager: they rebalance control
// planes, protect their quorum, spread workers over failure domains, and describe the Nodes of machine templates.
package controllers

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/quorum"
	"github.com/faultline-io/faultline/shared/rebalance"
	"github.com/faultline-io/faultline/shared/spread"
	"github.com/faultline-io/faultline/shared/watch"
)

// Options are set by command-line flags.
type Options struct {
	// Rebalances is the number of clusters to process simultaneously for control-plane rebalancing, and also for quorum
	// protection.
	Rebalances int
	// Versions has the versions of control-plane providers by their name, used if clusterctl's inventory does not contain them.
	Versions map[string]string
	// Spread is the number of clusters to process simultaneously for spreading workers.
	Spread int
}

// AddFlags adds the flags for these options.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	for _, kind := range machines.ControlPlaneKinds() {
		of := kind.Facts()
		fs.Var(versionOf{o, of.Provider}, rebalance.VersionFlag(of), fmt.Sprintf("Version of the %s control-plane provider, for example %s, "+
			"if clusterctl's inventory does not have it. Single control-plane machines are only moved with tested versions.", of.Provider, of.OldestTested))
	}
	fs.IntVar(&o.Rebalances, "rebalance-concurrency", 10, "Number of clusters whose control planes to rebalance simultaneously.")
	fs.IntVar(&o.Spread, "spread-concurrency", 10, "Number of clusters whose workers to spread simultaneously.")
}

// versionOf is a flag with the version of a control-plane provider.
type versionOf struct {
	options  *Options
	provider string
}

func (v versionOf) String() string {
	if v.options == nil {
		return ""
	}
	return v.options.Versions[v.provider]
}

func (v versionOf) Set(text string) error {
	if v.options.Versions == nil {
		v.options.Versions = map[string]string{}
	}
	v.options.Versions[v.provider] = text
	return nil
}

func (versionOf) Type() string { return "string" }

// A provider must request the permissions for its own kinds: get, list, watch and patch its clusters and machines, and patch the
// status of its clusters.
//
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=get;list;watch
// +kubebuilder:rbac:groups=clusterctl.cluster.x-k8s.io,resources=providers,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Add adds the controllers for a provider to the manager.
func Add(ctx context.Context, mgr ctrl.Manager, watchFilter string, of Of, o Options) error {
	c, live, now := mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}
	if err := (&rebalance.Reconciler{
		Client: c, Live: live, Provider: of.Provider, Recorder: manager.Recorder(mgr, "rebalance"), Clock: now, Metrics: of.Metrics,
		Versions: o.Versions,
	}).SetupWithManager(ctx, mgr, watchFilter, watch.Concurrency(o.Rebalances)); err != nil {
		return fmt.Errorf("adding rebalance controller: %w", err)
	}
	if err := (&quorum.Reconciler{Client: c, Live: live, Provider: of.Provider, Recorder: manager.Recorder(mgr, "quorum")}).
		SetupWithManager(ctx, mgr, watchFilter, watch.Concurrency(o.Rebalances)); err != nil {
		return fmt.Errorf("adding quorum controller: %w", err)
	}
	if err := (&spread.Reconciler{
		Client: c, Live: live, Provider: of.Provider, Recorder: manager.Recorder(mgr, "spread"), Clock: now, Metrics: of.Metrics,
	}).SetupWithManager(ctx, mgr, watchFilter, watch.Concurrency(o.Spread)); err != nil {
		return fmt.Errorf("adding spread controller: %w", err)
	}
	return nil
}

// Of is the provider for which the controllers work, and the metrics that they update.
type Of struct {
	Provider provider.Provider
	Metrics  *distribution.Metrics
}
