// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager runs the vSphere infrastructure provider of Cluster API.
package main

// The types of the provider's own kinds are in api/v1*. The CRDs of all other types are not installed by the provider.
//go:generate go run $CONTROLLER_GEN crd:crdVersions=v1 rbac:roleName=system-manager-role webhook paths=./api/v1beta1/... paths=./api/v1beta2/... paths=./internal/... paths=github.com/faultline-io/faultline/shared/controllers paths=github.com/faultline-io/faultline/shared/remote output:crd:dir=./config/crd/bases output:rbac:dir=./config/rbac output:webhook:dir=./config/webhook

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	webhooks "github.com/faultline-io/faultline/providers/vsphere/internal/webhook"
	"github.com/faultline-io/faultline/providers/vsphere/validation"
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
	p := manager.Provider{
		Name: "vsphere", Namespace: "capv-system", LeaderElectionID: "capv-controller-manager-runtime", // upstream's
		Migrated: setup.Migrated(),
		Scheme: []func(*runtime.Scheme) error{
			clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, ipamclusterv1.AddToScheme,
			infrav1.AddToScheme, v1beta1.AddToScheme,
		},
	}
	p.Add = func(ctx context.Context, mgr ctrl.Manager) error {
		if err := webhooks.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("adding webhooks: %w", err)
		}
		controllers.Namespace, controllers.WatchFilter, controllers.Metrics = p.OwnNamespace(), opts.WatchFilter, metrics.Registry
		controllers.ClusterModules = opts.Enabled(validation.NodeAntiAffinity)
		controllers.Log = slog.New(logr.ToSlogHandler(ctrl.Log.WithName("vcenter")))
		if err := setup.Add(ctx, mgr, controllers); err != nil {
			return fmt.Errorf("adding controllers: %w", err)
		}
		return nil
	}
	return p
}

// addFlags adds the flags that only this provider has. They have upstream's names where upstream has such a flag.
func addFlags(fs *pflag.FlagSet, o *setup.Options) {
	fs.StringVar(&o.CredentialsFile, "credentials-file", "/etc/capv/credentials.yaml",
		"YAML file with the keys username and password, used for clusters without spec.identityRef. The optional key servers restricts the vCenters "+
			"to which the credentials are sent. The file is reloaded when it changes.")
	fs.BoolVar(&o.SkipVerify, "vcenter-insecure-skip-verify", false,
		"Accept any certificate of a vCenter that has no thumbprint, as Cluster API Provider vSphere does. "+
			"By default, the certificate must be signed by a certificate authority that the manager's system trusts.")
	fs.IntVar(&o.Clusters, "vspherecluster-concurrency", 50, "Number of VSphereClusters to process simultaneously.")
	fs.IntVar(&o.Machines, "vspheremachine-concurrency", 100, "Number of VSphereMachines to process simultaneously.")
	fs.IntVar(&o.VMs, "vspherevm-concurrency", 100, "Number of VSphereVMs to process simultaneously.")
	fs.IntVar(&o.Zones, "vspheredeploymentzone-concurrency", 10, "Number of VSphereDeploymentZones to process simultaneously.")
	o.Common.AddFlags(fs)
	fs.IntVar(&o.Identities, "vsphereclusteridentity-concurrency", 10, "Number of VSphereClusterIdentities to process simultaneously.")
	fs.BoolVar(&o.LabelNodes, "label-nodes", true,
		"Label Nodes with the zone and region of their machines unless a cloud provider does. Requires a connection to each workload cluster.")
	fs.IntVar(&o.Labels, "nodelabels-concurrency", 10, "Number of Machines whose Nodes are labeled simultaneously.")
	remote.AddFlags(fs, &o.Workloads, &o.WorkloadQPS, &o.WorkloadBurst)
	o.Remote.AddFlags(fs)
}

// ignoreFlags accepts flags that upstream's installations pass to the manager but that have no effect here.
func ignoreFlags(fs *pflag.FlagSet, opts *manager.Options) {
	const supervisor = "this provider does not support clusters on a Supervisor"
	opts.Ignore(fs,
		manager.Ignored{Name: "pod-name", Why: "the Lease object records the leader"},
		manager.Ignored{Name: "network-provider", Why: supervisor},
		manager.Ignored{Name: "vm-operator-api-version", Why: supervisor},
		manager.Ignored{Name: "vspheremachinetemplate-concurrency", Why: supervisor},
		manager.Ignored{Name: "providerserviceaccount-concurrency", Why: supervisor},
		manager.Ignored{Name: "servicediscovery-concurrency", Why: supervisor},
		manager.Ignored{Name: "virtualmachinegroup-concurrency", Why: supervisor},
	)
	var ignored []manager.Ignored
	for _, gate := range validation.IgnoredGates() {
		ignored = append(ignored, manager.Ignored(gate))
	}
	opts.Gates(fs, []manager.Gate{{
		Name: validation.NodeAntiAffinity,
		Does: "keeps the machines of a control plane or MachineDeployment on different hosts with cluster modules (requires vCenter 7)",
	}}, ignored...)
}
