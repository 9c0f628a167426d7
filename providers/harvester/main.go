// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager runs the Harvester infrastructure provider of Cluster API.
package main

// The provider's own kinds are in api/v1*. Other kinds there belong to other projects, and the provider does not install their CRDs. The
// load balancer and the cloud provider are separate programs with their own RBAC rules.
//go:generate go run $CONTROLLER_GEN crd:crdVersions=v1 rbac:roleName=system-manager-role webhook paths=./api/v1alpha1/... paths=./api/v1beta1/... paths=./internal/controller/... paths=./internal/setup/... paths=./internal/webhook/... paths=github.com/faultline-io/faultline/shared/controllers paths=github.com/faultline-io/faultline/shared/remote output:crd:dir=./config/crd/bases output:rbac:dir=./config/rbac output:webhook:dir=./config/webhook

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/setup"
	webhooks "github.com/faultline-io/faultline/providers/harvester/internal/webhook"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/remote"
)

func main() {
	opts := &manager.Options{}
	opts.AddFlags(pflag.CommandLine)
	controllers := setup.Options{}
	addFlags(pflag.CommandLine, &controllers)
	pflag.Parse()
	if err := opts.Run(ctrl.SetupSignalHandler(), provider(opts, controllers)); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func provider(opts *manager.Options, controllers setup.Options) manager.Provider {
	return manager.Provider{
		// The lease has the name that upstream uses.
		Name: "harvester", Namespace: "caphv-system", LeaderElectionID: "1e1658d6.cluster.x-k8s.io",
		Scheme: []func(*runtime.Scheme) error{
			clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme,
			infrav1.AddToScheme, v1alpha1.AddToScheme,
		},
		Cache: manager.StripObjects, Migrated: setup.Migrated(),
		Add: func(ctx context.Context, mgr ctrl.Manager) error {
			if err := (webhooks.Webhooks{Consent: controllers.Consent}).SetupWithManager(mgr); err != nil {
				return fmt.Errorf("adding webhooks: %w", err)
			}
			controllers.WatchFilter, controllers.Namespace, controllers.Metrics = opts.WatchFilter, opts.Namespace, metrics.Registry
			if err := setup.Add(ctx, mgr, controllers); err != nil {
				return fmt.Errorf("adding controllers: %w", err)
			}
			return nil
		},
	}
}

// addFlags adds the flags specific to this provider.
func addFlags(fs *pflag.FlagSet, o *setup.Options) {
	fs.IntVar(&o.Clusters, "harvestercluster-concurrency", 10, "Number of HarvesterClusters to process simultaneously.")
	fs.IntVar(&o.Machines, "harvestermachine-concurrency", 50, "Number of HarvesterMachines to process simultaneously.")
	fs.IntVar(&o.Labels, "nodelabels-concurrency", 10, "Number of Machines whose Nodes are labelled simultaneously.")
	o.Common.AddFlags(fs)
	o.Consent.AddFlags(fs)
	remote.AddFlags(fs, &o.Workloads, &o.WorkloadQPS, &o.WorkloadBurst)
	o.Remote.AddFlags(fs)
}
