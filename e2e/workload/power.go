// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Identity is the identity that a machine gets at boot.
type Identity struct {
	// NodeName and ProviderID are the name and the provider ID of its node.
	NodeName, ProviderID string
	// Labels are the labels that its kubelet sets.
	Labels map[string]string
}

// PowerOn boots a Machine whose infrastructure is provisioned only once the Machine's node exists, as on bare metal. Machines of other
// infrastructure boot automatically. It restarts a stopped node.
func (s *Simulator) PowerOn(ctx context.Context, machine client.ObjectKey, as Identity) error {
	object := &clusterv1.Machine{}
	if err := s.manager.GetClient().Get(ctx, machine, object); err != nil {
		return fmt.Errorf("reading machine %s: %w", machine, err)
	}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: object.Spec.ClusterName}
	c := s.cluster(key)
	if c == nil {
		return fmt.Errorf("booting machine %s: cluster %s is not simulated", machine, key)
	}
	if c.hasNode(machine.Name) {
		return s.SetNodeReady(ctx, machine, true)
	}
	c.powerOn(machine.Name, as)
	c.wake()
	return nil
}

// PowerOff undoes PowerOn: the node stops, or does not appear. The machine may have been deleted.
func (s *Simulator) PowerOff(ctx context.Context, machine client.ObjectKey) error {
	if s.clusterOf(machine) != nil {
		return s.SetNodeReady(ctx, machine, false)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, c := range s.clusters {
		if key.Namespace == machine.Namespace {
			c.powerOff(machine.Name)
		}
	}
	return nil
}

func (c *cluster) powerOn(machine string, as Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.powered[machine] = as
}

func (c *cluster) powerOff(machine string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.powered, machine)
}

// identify sets the identity of powered-on machines, and removes deleted ones. The caller must hold the lock.
func (c *cluster) identify(machines []machine) {
	powered := map[string]Identity{}
	for i := range machines {
		m := &machines[i]
		as, ok := c.powered[m.name]
		if !ok {
			continue
		}
		powered[m.name] = as
		m.bootable, m.nodeName, m.providerID, m.labels = true, as.NodeName, as.ProviderID, as.Labels
	}
	c.powered = powered
}
