// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command load-balancer runs on Harvester. It allocates addresses from IPPools and connects LoadBalancers to virtual machines.
package main

//go:generate go run $CONTROLLER_GEN crd:crdVersions=v1 rbac:roleName=system-manager-role webhook paths=../../api/loadbalancer/... paths=../../internal/loadbalancer/... output:crd:dir=../../config/loadbalancer/crd/bases output:rbac:dir=../../config/loadbalancer/rbac output:webhook:dir=../../config/loadbalancer/webhook
//go:generate ../../../../e2e/scripts/charts

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1alpha1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	networkv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
	webhooks "github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/webhook"
	"github.com/faultline-io/faultline/shared/manager"
)

func main() {
	opts := &manager.Options{}
	opts.AddFlags(pflag.CommandLine)
	options := controllers.Options{Metrics: metrics.Registry}
	addFlags(pflag.CommandLine, &options)
	pflag.Parse()
	options.WatchFilter = opts.WatchFilter
	if err := opts.Run(ctrl.SetupSignalHandler(), provider(options)); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func provider(options controllers.Options) manager.Provider {
	return manager.Provider{
		// The lease has the name that upstream uses.
		Name: "harvester-load-balancer", Namespace: "harvester-system", LeaderElectionID: "harvester-load-balancer",
		Scheme: []func(*runtime.Scheme) error{
			clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, kubevirtv1.AddToScheme, networkv1.AddToScheme, lbv1.AddToScheme, v1alpha1.AddToScheme,
		},
		Migrated: controllers.Migrated(),
		Add: func(ctx context.Context, mgr ctrl.Manager) error {
			if err := webhooks.SetupWithManager(mgr); err != nil {
				return fmt.Errorf("adding webhooks: %w", err)
			}
			if err := controllers.Add(ctx, mgr, options); err != nil {
				return fmt.Errorf("adding controllers: %w", err)
			}
			return nil
		},
	}
}

// addFlags adds the flags specific to this manager.
func addFlags(fs *pflag.FlagSet, o *controllers.Options) {
	fs.IntVar(&o.Pools, "ippool-concurrency", 10, "Number of IPPools to process simultaneously.")
	fs.IntVar(&o.LoadBalancers, "loadbalancer-concurrency", 10, "Number of LoadBalancers to process simultaneously.")
	fs.IntVar(&o.HealthChecks, "health-check-concurrency", health.DefaultConnections, "Number of machines behind LoadBalancers to check simultaneously.")
	fs.BoolVar(&o.AnyPool, "any-named-pool", false, "Allow a LoadBalancer to use every IPPool that it names, regardless of the scope of the pool, like upstream's manager.")
	fs.DurationVar(&o.Quarantine, "address-rest", ipam.DefaultQuarantine, "Duration for which a released address is not allocated to another LoadBalancer.")
}
