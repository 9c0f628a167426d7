// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/faultline-io/faultline/shared/simulation"
)

const (
	defaultHost      = "127.0.0.1"
	defaultFirstPort = 20000
	defaultLastPort  = 20999
)

// PortRange is an inclusive range of TCP ports.
type PortRange struct{ First, Last int }

func (r PortRange) contains(port int) bool { return r.First <= port && port <= r.Last }

// Options configure a simulator. The zero value is usable.
type Options struct {
	// Host is the address that control-plane endpoints listen on. It must belong to this machine and be reachable for the controllers. It
	// defaults to 127.0.0.1.
	Host string
	// PortRange is the range for the ports of the endpoints, one per cluster. It defaults to 20000-20999.
	PortRange PortRange
	// With is the simulator of another management API that serves the same clusters. A Cluster that is moved from one API to the other,
	// paused as clusterctl does it, keeps its nodes, its data and its endpoint. Host and PortRange are then those of With, which must
	// outlive this simulator.
	With *Simulator
	// Log is the simulator's logger. Without one, nothing is logged.
	Log logr.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.With != nil {
		o.Host, o.PortRange = o.With.options.Host, o.With.options.PortRange
	}
	if o.Host == "" {
		o.Host = defaultHost
	}
	if o.PortRange == (PortRange{}) {
		o.PortRange = PortRange{First: defaultFirstPort, Last: defaultLastPort}
	}
	if o.PortRange.First < 1 || o.PortRange.Last > 65535 || o.PortRange.First > o.PortRange.Last {
		return o, fmt.Errorf("port range %d-%d is not a range of TCP ports", o.PortRange.First, o.PortRange.Last)
	}
	return o, nil
}

// Simulator simulates the workload clusters of one management API. Its methods are safe for concurrent use.
type Simulator struct {
	options Options
	manager ctrl.Manager
	*clusterSet
}

// clusterSet holds the clusters that one or several simulators serve.
type clusterSet struct {
	memory   inmemoryruntime.Manager
	notifier *notifier

	// mu must be locked before the lock of a cluster.
	mu       sync.Mutex
	clusters map[client.ObjectKey]*cluster
	shared   bool // by several simulators
	stopped  bool
}

// clusterSet returns the set of With, or a new one.
func (o Options) clusterSet() (*clusterSet, error) {
	if o.With != nil {
		o.With.mu.Lock()
		defer o.With.mu.Unlock()
		o.With.shared = true
		return o.With.clusterSet, nil
	}
	memory, err := newMemory()
	return &clusterSet{memory: memory, notifier: &notifier{}, clusters: map[client.ObjectKey]*cluster{}}, err
}

// New returns a simulator for the management API of mgmt, which must have Cluster API's CRDs. Existing Clusters with an endpoint of this
// simulator keep it; ctx bounds looking for them. New already reserves endpoints, so Start must follow to release them.
func New(ctx context.Context, mgmt *rest.Config, options Options) (*Simulator, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clusterv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("registering the management API's types: %w", err)
	}
	clusterSet, err := options.clusterSet()
	if err != nil {
		return nil, err
	}
	manager, err := ctrl.NewManager(mgmt, ctrl.Options{
		Scheme:     scheme,
		Logger:     options.Log,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: simulation.ControllerOptions(),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the management API: %w", err)
	}
	s := &Simulator{options: options, manager: manager, clusterSet: clusterSet}
	if err := s.setUp(ctx); err != nil {
		return nil, err
	}
	if err := s.resume(ctx); err != nil {
		if options.With == nil {
			s.stop()
		}
		return nil, err
	}
	return s, nil
}

// Start runs the simulation until ctx ends, and then closes every endpoint, unless another simulator also serves the clusters. It can be
// called once.
func (s *Simulator) Start(ctx context.Context) error {
	if s.options.With != nil {
		return s.manager.Start(ctx)
	}
	defer s.stop()
	if err := s.memory.Start(ctrl.LoggerInto(ctx, s.options.Log.V(1))); err != nil {
		if ctx.Err() != nil {
			return nil // ended while starting
		}
		return fmt.Errorf("starting the in-memory store: %w", err)
	}
	return s.manager.Start(ctx)
}

// Endpoint returns the address at which the control plane of a cluster will be served. The cluster's infrastructure must set it as the
// control-plane endpoint. The cluster need not exist yet. The address is reserved until the cluster has been created and deleted. An API
// server responds there once the cluster's certificate authorities exist; earlier connections are closed immediately.
func (s *Simulator) Endpoint(namespace, name string) (host string, port int, err error) {
	c, err := s.reserve(client.ObjectKey{Namespace: namespace, Name: name}, 0)
	if err != nil {
		return "", 0, err
	}
	return s.options.Host, c.port, nil
}

// ClientFor returns a client with administrator permissions in a simulated cluster. It returns an error while the cluster has no running
// API server.
func (s *Simulator) ClientFor(namespace, name string) (client.Client, error) {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	c := s.cluster(key)
	if c == nil {
		return nil, fmt.Errorf("cluster %s is not simulated", key)
	}
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: s.memory.GetScheme()})
}

// SetNodeReady stops (false) or restarts (true) the node of a Machine. A stopped node does not report to the API server, its pods are not
// ready, and its etcd member neither responds nor leads. The control plane is unreachable while more than half of its etcd members are
// stopped.
func (s *Simulator) SetNodeReady(ctx context.Context, machine client.ObjectKey, ready bool) error {
	c := s.clusterOf(machine)
	if c == nil {
		return fmt.Errorf("machine %s has no node", machine)
	}
	if err := c.setReady(ctx, machine.Name, ready); err != nil {
		return err
	}
	return c.settle(ctx)
}
