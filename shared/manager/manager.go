// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	goruntime "runtime"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/faultline-io/faultline/shared/remote/bounded"
	"github.com/faultline-io/faultline/shared/version"
)

// Provider configures what differs between the managers of providers.
type Provider struct {
	// Name is part of the user agent.
	Name string
	// Namespace is the namespace of the provider if POD_NAMESPACE is not set.
	Namespace string
	// LeaderElectionID is the name of the Lease. Use the name of the upstream manager, so that the two never run at the same
	// time.
	LeaderElectionID string
	// Scheme registers every kind that is read or written.
	Scheme []func(*runtime.Scheme) error
	// Cache adjusts the options of the cache; it may be nil.
	Cache func(*cache.Options)
	// Migrated lists the kinds whose objects may be stored in an old version. The scheme must then include CRDs.
	Migrated []Migrated
	// Add adds controllers and webhooks to the manager.
	Add func(ctx context.Context, mgr manager.Manager) error
}

// gcPercent triggers garbage collection when the heap has grown by half. A manager mostly holds caches, a few tens of MiB that
// stay: waiting until the heap has doubled would cost more memory than the additional collections cost CPU.
const gcPercent = 50

// Run runs the manager until ctx is done.
func (o *Options) Run(ctx context.Context, p Provider) error {
	if o.version {
		_, err := fmt.Fprintln(os.Stdout, version.Text(p.program()))
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if err := o.checkProfiler(); err != nil {
		return err
	}
	if err := logsv1.ValidateAndApply(o.logs, nil); err != nil {
		return fmt.Errorf("setting up logs: %w", err)
	}
	defer logs.FlushLogs()
	ctrl.SetLogger(klog.Background())
	ctx = ctrl.LoggerInto(ctx, klog.Background())
	klog.Background().Info("Starting "+p.program(), version.Pairs()...)
	if err := errors.Join(version.Register(metrics.Registry), o.registerCertificate(metrics.Registry)); err != nil {
		return err
	}
	o.logIgnored(klog.Background())
	if o.contentionProfiling {
		goruntime.SetBlockProfileRate(1)
	}

	mgr, err := o.newManager(p)
	if err != nil {
		return err
	}
	if err := p.Add(ctx, mgr); err != nil {
		return err
	}
	if err := o.addMigration(ctx, mgr, p.Migrated); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("adding health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("adding readiness check: %w", err)
	}
	return mgr.Start(ctx)
}

// checkProfiler rejects a profiler address that is reachable from outside the manager's Pod, unless --insecure-profiler is set.
func (o *Options) checkProfiler() error {
	host, _, err := net.SplitHostPort(o.profilerAddress)
	if o.profilerAddress == "" || o.profilerAddress == "0" || o.insecureProfiler || err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback()) {
		return nil
	}
	return fmt.Errorf("--profiler-address=%s is reachable from outside of the Pod, requires no credentials and exposes the memory, including passwords: "+
		"set localhost:PORT and use kubectl port-forward, or set --insecure-profiler", o.profilerAddress)
}

func (o *Options) newManager(p Provider) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range p.Scheme {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building scheme: %w", err)
		}
	}
	webhooks, metricsOptions, err := o.servers()
	if err != nil {
		return nil, err
	}
	api, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	o.configure(api, p.program())
	mgr, err := ctrl.NewManager(api, ctrl.Options{
		Scheme: scheme, Metrics: *metricsOptions, HealthProbeBindAddress: o.healthAddress, PprofBindAddress: o.profilerAddress,
		LeaderElection: o.leaderElect, LeaderElectionID: cmp.Or(o.leaderElectionID, p.LeaderElectionID),
		LeaderElectionNamespace: cmp.Or(o.leaderNamespace, p.OwnNamespace()), LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &o.leaseDuration, RenewDeadline: &o.leaseDeadline, RetryPeriod: &o.leaseRetry,
		Cache: o.cacheOptions(p), Controller: ControllerOptions(),
		WebhookServer: webhook.NewServer(webhooks),
	})
	if err != nil {
		return nil, fmt.Errorf("creating manager: %w", err)
	}
	return mgr, nil
}

// configure sets how the manager sends requests to the API server.
func (o *Options) configure(api *rest.Config, program string) {
	api.QPS, api.Burst = o.kubeAPIQPS, o.kubeAPIBurst
	api.UserAgent = program
	// Upstream's finalizers are part of the wire format, so the API server's warning about their names is dropped.
	api.WarningHandler = apiwarnings.DefaultHandler(klog.Background().WithName("API Server Warning"))
	// An API server, or a proxy, that keeps connections open without an answer must not stop the reconciles of an object for ever.
	api.Wrap(bounded.Deadline)
	api.Wrap(func(next http.RoundTripper) http.RoundTripper { return discoveryRetry{next, discoveryBackoff()} })
}

// servers returns the options for the webhook and diagnostics servers. Both offer HTTP/1.1 only unless --enable-http2 is set,
// because an HTTP/2 server must keep much more state for an unauthenticated client.
func (o *Options) servers() (webhook.Options, *metricsserver.Options, error) {
	tlsOptions, diagnostics, err := flags.GetManagerOptions(o.manager)
	if err != nil {
		return webhook.Options{}, nil, fmt.Errorf("reading manager options: %w", err)
	}
	if !o.enableHTTP2 {
		tlsOptions = append(tlsOptions, func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} })
	}
	diagnostics.TLSOpts = tlsOptions
	return webhook.Options{
		Port: o.webhookPort, CertDir: o.webhookCertDir, CertName: o.webhookCert, KeyName: o.webhookKey, TLSOpts: tlsOptions,
	}, diagnostics, nil
}

// program is the name of the manager in its user agent, its log and the output of --version.
func (p Provider) program() string { return "faultline-" + p.Name + "-manager" }

// OwnNamespace returns the namespace in which the manager runs.
func (p Provider) OwnNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	return p.Namespace
}

// ControllerOptions disables controller-runtime's priority queue: up to 0.24 its workers can deadlock when the manager stops,
// which then waits for its whole grace period while it holds the lease
// (https://github.com/kubernetes-sigs/controller-runtime/issues/3538).
func ControllerOptions() config.Controller {
	return config.Controller{UsePriorityQueue: ptr.To(false)}
}

// cacheOptions returns the cache options of the provider's manager.
func (o *Options) cacheOptions(p Provider) cache.Options {
	options := CacheOptions(o.Namespace, p.OwnNamespace())
	options.SyncPeriod = &o.syncPeriod
	if p.Cache != nil {
		p.Cache(&options)
	}
	newSharer().of(&options)
	return options
}

// CacheOptions limits what a manager caches: no managed fields and, if a namespace is given, only objects in that namespace and
// the manager's own.
func CacheOptions(namespace, own string) cache.Options {
	options := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}, own: {}}
	}
	return options
}
