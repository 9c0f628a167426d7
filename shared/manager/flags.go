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
	fs.BoolVar(&o.version, "version", false, "Print the version and exit.")
	o.logs = logs.NewOptions()
	logsv1.AddFlags(o.logs, fs)
	flags.AddManagerOptions(fs, &o.manager)

	fs.StringVar(&o.Namespace, "namespace", "",
		"Namespace that the controller watches to reconcile cluster-api objects. If unspecified, the controller watches all namespaces.")
	fs.StringVar(&o.WatchFilter, "watch-filter", "",
		fmt.Sprintf("Label value that the controller watches to reconcile cluster-api objects. Label key is always %s. If unspecified, the controller watches all cluster-api objects.", clusterv1.WatchLabel))

	fs.BoolVar(&o.leaderElect, "leader-elect", true, "Enable leader election, which ensures that only one manager reconciles.")
	fs.StringVar(&o.leaderNamespace, "leader-election-namespace", "", "Namespace of the leader election lease. If unspecified, the manager's namespace is used.")
	fs.StringVar(&o.leaderElectionID, "leader-election-id", "", "Name of the leader election lease. If unspecified, upstream's name is used, so that both providers never reconcile at the same time.")
	fs.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "Duration that non-leader candidates wait before they force acquisition of leadership.")
	fs.DurationVar(&o.leaseDeadline, "leader-elect-renew-deadline", 10*time.Second, "Duration that the leader retries to renew its lease before it gives up.")
	fs.DurationVar(&o.leaseRetry, "leader-elect-retry-period", 2*time.Second, "Duration between attempts to acquire or renew the lease.")

	fs.DurationVar(&o.syncPeriod, "sync-period", 10*time.Minute, "The minimum interval at which all objects are reconciled.")
	fs.Float32Var(&o.kubeAPIQPS, "kube-api-qps", 100, "Maximum queries per second to the Kubernetes API server.")
	fs.IntVar(&o.kubeAPIBurst, "kube-api-burst", 200, "Maximum number of queries allowed in one burst to the Kubernetes API server.")

	fs.IntVar(&o.webhookPort, "webhook-port", 9443, "Port that the webhook server listens on.")
	fs.StringVar(&o.webhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", "Directory of the webhook server's certificate.")
	fs.StringVar(&o.webhookCert, "webhook-cert-name", "tls.crt", "File name of the webhook server's certificate.")
	fs.StringVar(&o.webhookKey, "webhook-key-name", "tls.key", "File name of the webhook server's key.")
	fs.BoolVar(&o.enableHTTP2, "enable-http2", false,
		"Enable HTTP/2 for webhooks and for diagnostics over HTTPS. If disabled, only HTTP/1.1 is served.")
	fs.StringVar(&o.healthAddress, "health-addr", ":9440", "Address that the health endpoint binds to.")
	fs.StringVar(&o.profilerAddress, "profiler-address", os.Getenv("PROFILER_ADDR"), "Address that the pprof profiler binds to, for example localhost:6060. If unspecified, profiling is disabled. It must be a loopback address, unless --insecure-profiler is set.")
	fs.BoolVar(&o.insecureProfiler, "insecure-profiler", false,
		"Allow a --profiler-address that is reachable from outside of the manager's Pod. The profiler requires no credentials and exposes the memory, including passwords.")
	fs.BoolVar(&o.contentionProfiling, "contention-profiling", false, "Enable block profiling.")
	fs.StringSliceVar(&o.skipMigrationPhases, "skip-crd-migration-phases", nil,
		"CRD migration phases to skip: StorageVersionMigration, which rewrites all objects in the storage version, "+
			"and CleanupManagedFields, which removes managed fields of versions that are not served any more.")
	if kubeconfig := flag.Lookup("kubeconfig"); kubeconfig != nil { // This flag is defined by controller-runtime.
		fs.AddGoFlag(kubeconfig)
	}
}
