// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager runs the vSphere infrastructure provider of Cluster API.
package main

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
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/controllers"
	webhooks "github.com/faultline-io/faultline/providers/vsphere/internal/webhook"
)

func main() {
	opts := newOptions(pflag.CommandLine)
	pflag.Parse()
	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opts *options) error {
	if err := logsv1.ValidateAndApply(opts.logs, nil); err != nil {
		return fmt.Errorf("setting up logs: %w", err)
	}
	defer logs.FlushLogs()
	ctrl.SetLogger(klog.Background())
	ctx = ctrl.LoggerInto(ctx, klog.Background())

	mgr, err := newManager(opts)
	if err != nil {
		return err
	}
	if err := webhooks.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("adding webhooks: %w", err)
	}
	if err := controllers.Add(ctx, mgr, controllers.Options{
		CredentialsFile: opts.credentialsFile, Namespace: ownNamespace(), WatchFilter: opts.watchFilter, Metrics: metrics.Registry,
		Log:      slog.New(logr.ToSlogHandler(ctrl.Log.WithName("vcenter"))),
		Clusters: opts.clusters, Machines: opts.machines, VMs: opts.vms, Zones: opts.zones, Identities: opts.identities,
	}); err != nil {
		return fmt.Errorf("adding controllers: %w", err)
	}
	if err := mgr.AddHealthzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(opts *options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building scheme: %w", err)
		}
	}
	tlsOptions, metricsOptions, err := flags.GetManagerOptions(opts.manager)
	if err != nil {
		return nil, fmt.Errorf("reading manager options: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	config.QPS, config.Burst = opts.kubeAPIQPS, opts.kubeAPIBurst
	config.UserAgent = "faultline-vsphere-manager"
	// Upstream's finalizers are part of the wire format, however much the API server would prefer others.
	config.WarningHandler = apiwarnings.DefaultHandler(klog.Background().WithName("API Server Warning"))
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: *metricsOptions, HealthProbeBindAddress: opts.healthAddress, PprofBindAddress: opts.profilerAddress,
		LeaderElection: opts.leaderElect, LeaderElectionID: "controller-leader-election-capv", LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &opts.leaseDuration, RenewDeadline: &opts.leaseDeadline, RetryPeriod: &opts.leaseRetry,
		Cache: controllers.CacheOptions(opts.namespace, ownNamespace(), &opts.syncPeriod),
		WebhookServer: webhook.NewServer(webhook.Options{
			Port: opts.webhookPort, CertDir: opts.webhookCertDir, CertName: opts.webhookCert, KeyName: opts.webhookKey, TLSOpts: tlsOptions,
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("creating manager: %w", err)
	}
	return mgr, nil
}

// ownNamespace is where the Secrets of VSphereClusterIdentities are.
func ownNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	return "capv-system"
}
