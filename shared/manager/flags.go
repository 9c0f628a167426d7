// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager contains the shared parts of the main packages of all providers: the command line of a Cluster API manager, the
// manager created from it, and the event recorders of its controllers, which drop no event.
package manager

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/flags"
)

// Options holds the flags that every provider has. Their names are those of Cluster API's managers.
type Options struct {
	// Namespace limits the manager to one namespace; "" means all.
	Namespace string
	// WatchFilter limits the manager to objects with this value of the watch label; "" means all.
	WatchFilter string

	logs    *logs.Options
	manager flags.ManagerOptions
	given   *pflag.FlagSet
	ignored []Ignored
	gates   *gates

	leaderElect                              bool
	leaderNamespace                          string
	leaderElectionID                         string
	leaseDuration, leaseDeadline, leaseRetry time.Duration
	syncPeriod                               time.Duration
	kubeAPIQPS                               float32
	kubeAPIBurst                             int
	webhookPort                              int
	webhookCertDir, webhookCert, webhookKey  string
	healthAddress, profilerAddress           string
	contentionProfiling                      bool
	skipMigrationPhases                      []string
	enableHTTP2, version, insecureProfiler   bool
}

// AddFlags adds the flags with their defaults.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.given = fs
	fs.BoolVar(&o.version, "version", false, "Print the version and end.")
	o.logs = logs.NewOptions()
	logsv1.AddFlags(o.logs, fs)
	flags.AddManagerOptions(fs, &o.manager)

	fs.StringVar(&o.Namespace, "namespace", "",
		"Namespace whose cluster-api objects are reconciled. All namespaces when empty.")
	fs.StringVar(&o.WatchFilter, "watch-filter", "",
		fmt.Sprintf("Reconcile only objects that carry the label %s with this value.", clusterv1.WatchLabel))

	fs.BoolVar(&o.leaderElect, "leader-elect", true, "Let only one manager at a time reconcile.")
	fs.StringVar(&o.leaderNamespace, "leader-election-namespace", "", "Namespace of the lease. That of the manager when empty.")
	fs.StringVar(&o.leaderElectionID, "leader-election-id", "", "Name of the lease that the leader holds. Upstream's when empty, so that the two never work at once.")
	fs.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long a candidate waits before it takes over the lease.")
	fs.DurationVar(&o.leaseDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew its lease before it gives up.")
	fs.DurationVar(&o.leaseRetry, "leader-elect-retry-period", 2*time.Second, "Pause between two tries to acquire or renew the lease.")

	fs.DurationVar(&o.syncPeriod, "sync-period", 10*time.Minute, "How often every object is reconciled without a reason.")
	fs.Float32Var(&o.kubeAPIQPS, "kube-api-qps", 100, "Requests per second to the Kubernetes API server.")
	fs.IntVar(&o.kubeAPIBurst, "kube-api-burst", 200, "Requests to the Kubernetes API server allowed in one burst.")

	fs.IntVar(&o.webhookPort, "webhook-port", 9443, "Port of the webhook server.")
	fs.StringVar(&o.webhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", "Folder of the webhook server's certificate.")
	fs.StringVar(&o.webhookCert, "webhook-cert-name", "tls.crt", "File name of the webhook server's certificate.")
	fs.StringVar(&o.webhookKey, "webhook-key-name", "tls.key", "File name of the webhook server's key.")
	fs.BoolVar(&o.enableHTTP2, "enable-http2", false,
		"Serve webhooks, and diagnostics over HTTPS, by HTTP/2 too. Without it they are served by HTTP/1.1 only.")
	fs.StringVar(&o.healthAddress, "health-addr", ":9440", "Address of the health endpoint.")
	fs.StringVar(&o.profilerAddress, "profiler-address", os.Getenv("PROFILER_ADDR"), "Address of the pprof profiler, for example localhost:6060. Off when empty. It must be one of the loopback interface, unless --insecure-profiler is set.")
	fs.BoolVar(&o.insecureProfiler, "insecure-profiler", false,
		"Let --profiler-address be one that others than the manager's Pod reach. The profiler asks for no credentials, and shows what is in memory, passwords among it.")
	fs.BoolVar(&o.contentionProfiling, "contention-profiling", false, "Have the profiler know what goroutines wait for.")
	fs.StringSliceVar(&o.skipMigrationPhases, "skip-crd-migration-phases", nil,
		"What is not done when CRDs have changed: StorageVersionMigration, which writes every object in the version that is stored today, "+
			"and CleanupManagedFields, which takes off managed fields of versions that are not served any more.")
	if kubeconfig := flag.Lookup("kubeconfig"); kubeconfig != nil { // This flag is defined by controller-runtime.
		fs.AddGoFlag(kubeconfig)
	}
}
