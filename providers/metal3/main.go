// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager runs the metal3 infrastructure provider of Cluster API.
package main

// Only the provider's own kinds are in api/v1*. The CRDs of all other kinds are installed by their owners.
//go:generate go run $CONTROLLER_GEN crd:crdVersions=v1 rbac:roleName=system-manager-role webhook paths=./api/v1beta1/... paths=./api/v1beta2/... paths=./internal/... paths=github.com/faultline-io/faultline/shared/controllers paths=github.com/faultline-io/faultline/shared/remote output:crd:dir=./config/crd/bases output:rbac:dir=./config/rbac output:webhook:dir=./config/webhook

import (
	"context"
	"fmt"
	"os"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/setup"
	webhooks "github.com/faultline-io/faultline/providers/metal3/internal/webhook"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/remote"
)

func main() {
	opts := &manager.Options{}
	opts.AddFlags(pflag.CommandLine)
	controllers := setup.Options{}
	addFlags(pflag.CommandLine, &controllers)
	ignoreFlags(pflag.CommandLine, opts)
	pflag.Parse()
	if err := opts.Run(ctrl.SetupSignalHandler(), provider(opts, controllers)); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func provider(opts *manager.Options, controllers setup.Options) manager.Provider {
	return manager.Provider{
		Name: "metal3", Namespace: "capm3-system", LeaderElectionID: "controller-leader-election-capm3", // upstream's ID
		Migrated: setup.Migrated(),
		Scheme: []func(*runtime.Scheme) error{
			clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, ipamclusterv1.AddToScheme,
			infrav1.AddToScheme, v1beta1.AddToScheme, ipamv1.AddToScheme, bmov1alpha1.AddToScheme,
		},
		Cache: setup.CacheOptions,
		Add: func(ctx context.Context, mgr ctrl.Manager) error {
			if err := webhooks.SetupWithManager(mgr); err != nil {
				return fmt.Errorf("adding webhooks: %w", err)
			}
			controllers.WatchFilter, controllers.Metrics = opts.WatchFilter, metrics.Registry
			if err := setup.Add(ctx, mgr, controllers); err != nil {
				return fmt.Errorf("adding controllers: %w", err)
			}
			return nil
		},
	}
}

// addFlags adds the flags that only this provider has. The names are upstream's; for fast track, upstream uses an environment
// variable.
func addFlags(fs *pflag.FlagSet, o *setup.Options) {
	fs.BoolVar(&o.FastTrack, "fast-track", os.Getenv("CAPM3_FAST_TRACK") == "true",
		"Leave hosts powered on when machines release them, unless their disks are not cleaned. "+
			"Defaults to the environment variable CAPM3_FAST_TRACK.")
	fs.IntVar(&o.Clusters, "metal3cluster-concurrency", 10, "Number of Metal3Clusters to process simultaneously.")
	fs.IntVar(&o.Machines, "metal3machine-concurrency", 50, "Number of Metal3Machines to process simultaneously.")
	fs.IntVar(&o.Data, "metal3data-concurrency", 10, "Number of Metal3Datas to process simultaneously.")
	fs.IntVar(&o.DataTemplates, "metal3datatemplate-concurrency", 10, "Number of Metal3DataTemplates to process simultaneously.")
	fs.IntVar(&o.MachineTemplates, "metal3machinetemplate-concurrency", 10, "Number of Metal3MachineTemplates to process simultaneously.")
	fs.IntVar(&o.Labels, "metal3labelsync-concurrency", 10, "Number of Machines to process simultaneously when labels are copied to Nodes.")
	o.Common.AddFlags(fs)
	fs.IntVar(&o.Remediations, "metal3remediation-concurrency", 10, "Number of Metal3Remediations to process simultaneously.")
	fs.BoolVar(&o.NameClaimsByHost, "enable-bmh-name-based-preallocation", false,
		"Name claims for addresses of metal3 IPPools after the host, so that the host gets the same addresses again.")
	fs.BoolVar(&o.NameClaimsByHost, "enableBMHNameBasedPreallocation", false, "Deprecated: use --enable-bmh-name-based-preallocation.")
	remote.AddFlags(fs, &o.Workloads, &o.WorkloadQPS, &o.WorkloadBurst)
	o.Remote.AddFlags(fs)
}

// ignoreFlags accepts upstream's flags that have no effect here.
func ignoreFlags(fs *pflag.FlagSet, opts *manager.Options) {
	opts.Ignore(fs, manager.Ignored{Name: "metrics-bind-addr", Why: "--diagnostics-address sets the address of the metrics"})
}
