// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryapi "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	inmemoryetcd "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cluster is one simulated cluster: its endpoint, and the content of its API server.
type cluster struct {
	key      client.ObjectKey
	host     string
	port     int
	frontend *frontend
	memory   inmemoryruntime.Client
	discard  func() // drops everything in memory
	wake     func() // enqueues the cluster
	log      logr.Logger

	mu sync.Mutex
	// uid is the UID of the simulated Cluster, once it has been observed, and owner the simulator that observed it.
	uid   types.UID
	owner *Simulator
	// moving is set while the Cluster is paused: it may be moved to another management API, with its Machines first.
	moving bool
	pki    *pki
	// initialised is set once there has been a control plane.
	initialised bool

	nodes   map[string]node     // by machine
	powered map[string]Identity // machines that were powered on
}

// pki holds the cluster's certificate authorities.
type pki struct{ cluster, etcd *authority }

// newCluster returns an empty cluster with a closed endpoint.
func newCluster(key client.ObjectKey, listener net.Listener, s *Simulator) *cluster {
	group := key.String()
	logger := s.options.Log.WithValues("cluster", group)
	s.memory.AddResourceGroup(group)
	return &cluster{
		key:      key,
		host:     s.options.Host,
		port:     listener.Addr().(*net.TCPAddr).Port,
		frontend: newFrontend(listener, newHandler(s.memory, group, logger), logger),
		memory:   s.memory.GetResourceGroup(group).GetClient(),
		discard:  func() { s.memory.DeleteResourceGroup(group) },
		wake:     func() { s.notifier.notify(key) },
		log:      logger,
		nodes:    map[string]node{},
		powered:  map[string]Identity{},
	}
}

// newHandler serves one cluster's API server and etcd, which share a port.
func newHandler(memory inmemoryruntime.Manager, group string, logger logr.Logger) http.Handler {
	resolve := func(string) (string, error) { return group, nil }
	api := inmemoryapi.NewAPIServerHandler(memory, logger.V(1), resolve)
	etcd := inmemoryetcd.NewEtcdServerHandler(memberNames{memory}, logger.V(1), resolve)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			etcd.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, nodeInsteadOfStatus(r))
	})
}

// nodeInsteadOfStatus turns a request for the status of a Node, which the in-memory API server does not support, into one for the Node.
func nodeInsteadOfStatus(r *http.Request) *http.Request {
	path, status := strings.CutSuffix(r.URL.Path, "/status")
	if !status || !strings.HasPrefix(path, "/api/v1/nodes/") {
		return r
	}
	whole := r.Clone(r.Context())
	whole.URL.Path = path
	return whole
}

func (c *cluster) close() {
	c.frontend.close()
	c.discard()
}

// claim claims the simulated cluster for a Cluster with this UID. It returns false if another Cluster of the same name has claimed it and
// is not being moved to this owner.
func (c *cluster) claim(uid types.UID, owner *Simulator) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uid == "" || c.moving && c.owner != owner {
		c.uid, c.owner = uid, owner
	}
	c.moving = c.moving && c.uid != uid
	return c.uid == uid
}

// pause records that the Cluster with this UID is paused.
func (c *cluster) pause(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moving = c.moving || c.uid == uid
}

// releaseOwnership records that the owner's Cluster is deleted. It returns true if nothing is left of it, and false if it may
// appear in another management API.
func (c *cluster) releaseOwnership(owner *Simulator) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uid == "" || c.owner != owner {
		return false
	}
	if c.moving {
		c.uid = ""
	}
	return !c.moving
}

func (c *cluster) hasNode(machine string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.nodes[machine]
	return ok
}

// restConfig returns the configuration of the cluster's administrator.
func (c *cluster) restConfig() (*rest.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pki == nil || !c.frontend.isOpen() {
		return nil, fmt.Errorf("no API server of cluster %s is running", c.key)
	}
	pair, err := c.pki.cluster.administrator()
	if err != nil {
		return nil, err
	}
	key, err := certs.EncodePrivateKeyPEMFromSigner(pair.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of the administrator: %w", err)
	}
	return &rest.Config{
		Host:            "https://" + net.JoinHostPort(c.host, strconv.Itoa(c.port)),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.pki.cluster.pem(), CertData: certs.EncodeCertPEM(pair.Leaf), KeyData: key},
	}, nil
}

// observe returns an observation with the cluster's own state, and records changes of the machines.
func (c *cluster) observe(machines []machine) observation {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identify(machines)
	for _, m := range machines {
		// A machine may have joined before the simulator was restarted.
		c.initialised = c.initialised || m.joined
	}
	return observation{machines: machines, nodes: maps.Clone(c.nodes), reachable: c.frontend.isOpen()}
}

// create creates an object in the cluster unless it exists.
func (c *cluster) create(ctx context.Context, object client.Object) error {
	err := c.memory.Create(ctx, object)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// change reads an object into object, edits it and writes it back, and retries on conflict. It ignores a deleted object.
func (c *cluster) change(ctx context.Context, object client.Object, edit func()) error {
	key := client.ObjectKeyFromObject(object)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.memory.Get(ctx, key, object); err != nil {
			return err
		}
		original := object.DeepCopyObject().(client.Object)
		edit()
		return c.memory.Patch(ctx, object, client.MergeFrom(original))
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("changing %T %s: %w", object, key, err)
	}
	return nil
}

// remove deletes an object from the cluster if it exists.
func (c *cluster) remove(ctx context.Context, object client.Object) error {
	err := c.memory.Delete(ctx, object)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}
