// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"net"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// adopt returns the simulated cluster of a Cluster. It returns nil if the Cluster has no endpoint yet, or an endpoint that is not the
// simulator's.
func (s *Simulator) adopt(object *clusterv1.Cluster) (*cluster, error) {
	endpoint := object.Spec.ControlPlaneEndpoint
	key, port := client.ObjectKeyFromObject(object), int(endpoint.Port)
	if endpoint.Host != s.options.Host || !s.options.PortRange.contains(port) {
		return nil, nil
	}
	if c := s.cluster(key); c != nil && !c.claim(object.UID, s) {
		s.release(key)
	}
	c, err := s.reserve(key, port)
	if err != nil {
		return nil, err
	}
	if c.port != port {
		return nil, reconcile.TerminalError(fmt.Errorf("cluster %s has endpoint %s, but port %d is reserved for it", key, endpoint.String(), c.port))
	}
	c.claim(object.UID, s)
	return c, nil
}

// pause leaves the simulated cluster of a paused Cluster unchanged if there is another management API that the Cluster may move to or
// from. It returns false if none exists.
func (s *Simulator) pause(object *clusterv1.Cluster) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clusters[client.ObjectKeyFromObject(object)]
	if !ok || !s.shared {
		return false
	}
	c.pause(object.UID)
	return true
}

// resume reserves the endpoints of clusters that an earlier simulator served.
func (s *Simulator) resume(ctx context.Context) error {
	list := &clusterv1.ClusterList{}
	if err := s.manager.GetAPIReader().List(ctx, list); err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	for i := range list.Items {
		if _, err := s.adopt(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Simulator) cluster(key client.ObjectKey) *cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clusters[key]
}

// reserve returns the cluster. It creates the cluster if necessary, with an endpoint on port, or on the first free port if port is 0.
func (s *Simulator) reserve(key client.ObjectKey, port int) (*cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clusters[key]; ok {
		return c, nil
	}
	if s.stopped {
		return nil, errors.New("the simulator has stopped")
	}
	listener, err := s.listen(port)
	if err != nil {
		return nil, fmt.Errorf("reserving an endpoint for cluster %s: %w", key, err)
	}
	c := newCluster(key, listener, s)
	s.clusters[key] = c
	return c, nil
}

// release removes a cluster and closes its endpoint.
func (s *Simulator) release(key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clusters[key]; ok {
		c.close()
		delete(s.clusters, key)
	}
}

func (s *Simulator) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, c := range s.clusters {
		c.close()
		delete(s.clusters, key)
	}
	s.stopped = true
}

// listen listens on a port of the range and skips ports in use.
func (s *Simulator) listen(port int) (net.Listener, error) {
	if port != 0 {
		return listenOn(s.options.Host, port)
	}
	var last error
	for port := s.options.PortRange.First; port <= s.options.PortRange.Last; port++ {
		listener, err := listenOn(s.options.Host, port)
		if err == nil {
			return listener, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no port is free in %d-%d: %w", s.options.PortRange.First, s.options.PortRange.Last, last)
}

// clusterOf returns the cluster in which a Machine is a node, or nil.
func (s *Simulator) clusterOf(machine client.ObjectKey) *cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, c := range s.clusters {
		if key.Namespace == machine.Namespace && c.hasNode(machine.Name) {
			return c
		}
	}
	return nil
}

// forget handles the deletion of a Cluster. It keeps a reservation for a future Cluster, and a cluster that is being moved.
func (s *Simulator) forget(key client.ObjectKey) {
	if c := s.cluster(key); c != nil && c.releaseOwnership(s) {
		s.release(key)
	}
}
