// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managementcluster runs a Cluster API management cluster as local processes: etcd, an API server, kube-controller-manager, the
// Cluster API managers and the managers of infrastructure providers. They are the real programs with the CRDs, webhooks and RBAC rules of
// their releases. Only what needs pods differs: managers listen on loopback ports, and the cluster issues their certificates.
package managementcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/shared/ports"
)

// providerLabel is the label of objects that belong to a Cluster API component.
const providerLabel = "cluster.x-k8s.io/provider"

// Options configure a cluster.
type Options struct {
	// Dir is the folder for the cluster's data, keys and logs. It must exist and is not removed when the cluster stops.
	Dir string
	// Programs are the programs of the control plane: etcd, kube-apiserver and kube-controller-manager.
	Programs binaries.Paths
	// APIServerArgs are further arguments of kube-apiserver.
	APIServerArgs []string
	// Components are the managers to run.
	Components []Component
	// Progress, unless nil, is called after each completed step.
	Progress func(message string)
}

// Cluster is a running management cluster.
type Cluster struct {
	// Client acts as administrator. Its scheme has the types of Kubernetes and Cluster API.
	Client client.WithWatch
	// RESTConfig is the administrator's configuration for the API server.
	RESTConfig *rest.Config
	// Kubeconfig is the path of a kubeconfig with the same configuration.
	Kubeconfig string

	dir       string
	programs  binaries.Paths
	authority *authority
	launcher  *launcher
	progress  func(string)

	mutex     sync.Mutex
	reserved  []*ports.Range
	fronts    []*APIServerFaults
	processes []*process
	managers  map[string]command // that were started, by name
	failed    chan struct{}
	failure   error
	stopOnce  sync.Once
}

// Process is one program of the cluster.
type Process struct {
	Name string
	PID  int
	// Log is the path of the file with all output.
	Log string
	// Metrics is the URL of the Prometheus metrics; "" if it serves none.
	Metrics string
	// Memory is the resident memory in bytes, Peak its highest value; both are 0 if the system does not report them.
	Memory, Peak int64
	// CPU is the user and system CPU time in seconds.
	CPU float64
}

// measured returns the process with its current resource usage.
func (p Process) measured() Process {
	running, err := procfs.NewProc(p.PID)
	if err != nil {
		return p
	}
	if status, err := running.NewStatus(); err == nil {
		p.Memory, p.Peak = int64(status.VmRSS), int64(status.VmHWM) //nolint:gosec // The value fits into int64.
	}
	if stat, err := running.Stat(); err == nil {
		p.CPU = stat.CPUTime()
	}
	return p
}

// Start starts a cluster and returns when it is completely ready. On an error nothing is left running.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	p, err := newCluster(options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not done after %s", startLimit))
	defer cancel()
	if err := p.bringUp(ctx, options); err != nil {
		p.Stop()
		return nil, fmt.Errorf("starting the management cluster: %w", err)
	}
	return p, nil
}

func newCluster(options Options) (*Cluster, error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory for logs: %w", err)
	}
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	progress := options.Progress
	if progress == nil {
		progress = func(string) {}
	}
	return &Cluster{
		Kubeconfig: filepath.Join(dir, "kubeconfig"),
		dir:        dir,
		programs:   options.Programs,
		authority:  authority,
		launcher:   newLauncher(),
		progress:   progress,
		managers:   map[string]command{},
		failed:     make(chan struct{}),
	}, nil
}

// bringUp renders the components while the API server starts, installs them and runs their managers.
func (p *Cluster) bringUp(ctx context.Context, options Options) error {
	managers := make([]manager, len(options.Components))
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		var err error
		if p.RESTConfig, err = p.startAPIServer(groupCtx, options.APIServerArgs); err != nil {
			return err
		}
		p.progress("etcd and kube-apiserver are running")
		return p.connect()
	})
	for i, component := range options.Components {
		group.Go(func() (err error) {
			managers[i], err = p.prepare(component)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := p.install(ctx, managers); err != nil {
		return err
	}
	p.progress("CRDs, webhooks and roles are installed")
	group, groupCtx = errgroup.WithContext(ctx)
	for _, m := range managers {
		group.Go(func() error {
			if err := p.run(groupCtx, m); err != nil {
				return err
			}
			p.progress(m.component.Name + " is ready")
			return nil
		})
	}
	return group.Wait()
}

func (p *Cluster) connect() error {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme),
		clusterv1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme), controlplanev1.AddToScheme(scheme))
	if err != nil {
		return fmt.Errorf("building the scheme: %w", err)
	}
	if p.Client, err = client.NewWithWatch(p.RESTConfig, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	return writeKubeconfig(p.Kubeconfig, p.RESTConfig)
}

// start starts a program of the cluster and monitors it.
func (p *Cluster) start(ctx context.Context, c command) (*process, error) {
	if c.program == "" {
		c.program = p.programs[c.name]
	}
	started, err := p.launcher.start(ctx, c, p.Logs())
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.processes = append(p.processes, started)
	go p.watch(started)
	return started, nil
}

// watch records the first process that exits unexpectedly.
func (p *Cluster) watch(started *process) {
	<-started.ended
	failure := started.failure()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if failure != nil && p.failure == nil {
		p.failure = failure
		close(p.failed)
	}
}

// Failed returns a channel that is closed when a process of the cluster exits unexpectedly.
func (p *Cluster) Failed() <-chan struct{} { return p.failed }

// Err returns an error with the name of that process and the end of its log; nil while all run.
func (p *Cluster) Err() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.failure
}

// Logs returns the folder with one log per process.
func (p *Cluster) Logs() string { return filepath.Join(p.dir, "logs") }

// log returns the file with all output of the processes of a name.
func (p *Cluster) log(name string) string { return logFile(p.Logs(), name) }

// Processes lists the running processes in the order of their start.
func (p *Cluster) Processes() []Process {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	list := make([]Process, 0, len(p.processes))
	for _, process := range p.processes {
		is := Process{Name: process.name, PID: process.cmd.Process.Pid, Log: process.log, Metrics: process.metrics}
		list = append(list, is.measured())
	}
	return list
}

// Process returns the running process with a name.
func (p *Cluster) Process(name string) (Process, error) {
	for _, process := range p.Processes() {
		if process.Name == name {
			return process, nil
		}
	}
	return Process{}, fmt.Errorf("no process %s is running", name)
}

// Stop stops everything. Managers are stopped first and gracefully, so that they can clean up in the infrastructure. It may be called
// more than once.
func (p *Cluster) Stop() {
	p.stopOnce.Do(func() {
		p.mutex.Lock()
		processes := slices.Clone(p.processes)
		var managers sync.WaitGroup
		for _, process := range processes {
			if _, manager := p.managers[process.name]; manager {
				managers.Go(func() { process.stop(stopGrace) })
			}
		}
		p.mutex.Unlock()
		managers.Wait()
		for _, front := range p.fronts {
			front.close()
		}
		// Their data is discarded, so the other processes need not shut down gracefully.
		for _, process := range slices.Backward(processes) {
			process.stop(0)
		}
		p.launcher.close()
		for _, reserved := range p.reserved {
			reserved.Release()
		}
	})
}

// Self returns the calling process under a given name.
func Self(name string) Process {
	return Process{Name: name, PID: os.Getpid()}.measured()
}
