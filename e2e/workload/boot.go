// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// boot turns a machine into a node. It can be called again after an error.
func (c *cluster) boot(ctx context.Context, m machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, n := range c.nodes {
		if n.name == m.nodeName {
			return fmt.Errorf("booting machine %s: node %s already belongs to machine %s", m.name, m.nodeName, other)
		}
	}
	// The node must be created first: an etcd member without a node would be considered a leftover and removed.
	if err := c.create(ctx, newNode(m)); err != nil {
		return fmt.Errorf("booting machine %s: %w", m.name, err)
	}
	if m.controlPlane {
		if err := c.startControlPlane(ctx, m); err != nil {
			return fmt.Errorf("booting machine %s: %w", m.name, err)
		}
	}
	c.nodes[m.name] = node{name: m.nodeName, controlPlane: m.controlPlane, ready: true}
	c.log.Info("Machine became a node", "machine", m.name, "node", m.nodeName, "controlPlane", m.controlPlane)
	return nil
}

// startControlPlane does what kubeadm does on a control-plane machine. The first one initialises the cluster; later ones keep existing
// objects.
func (c *cluster) startControlPlane(ctx context.Context, m machine) error {
	objects := kubeadmObjects(c, m.version)
	if m.rke2 {
		objects = rke2Objects()
	}
	for _, object := range objects {
		if err := c.create(ctx, object); err != nil {
			return err
		}
	}
	if err := c.serveEtcd(staticPodName(etcdComponent, m.nodeName)); err != nil {
		return err
	}
	c.initialised = true
	for _, component := range staticComponents() {
		pod := newStaticPod(component, m)
		if component == etcdComponent {
			if err := c.joinEtcd(ctx, pod); err != nil {
				return err
			}
			if m.rke2 {
				nameMember(pod)
			}
		}
		if err := c.create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) serveEtcd(pod string) error {
	certificate, err := c.pki.etcd.etcd(pod)
	if err != nil {
		return err
	}
	c.frontend.setEtcd(pod, certificate)
	return nil
}

// usePKI makes the cluster serve with certificates of these authorities.
func (c *cluster) usePKI(ctx context.Context, p *pki) error {
	certificate, err := p.cluster.apiServer(c.host)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, namespace := range newNamespaces() {
		if err := c.create(ctx, namespace); err != nil {
			return err
		}
	}
	c.frontend.setAPIServer(certificate)
	c.pki = p
	return nil
}

func (c *cluster) hasPKI() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pki != nil
}

// setReady stops or restarts the node of a machine.
func (c *cluster) setReady(ctx context.Context, machine string, ready bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.nodes[machine]
	if !ok {
		return fmt.Errorf("machine %s/%s has no node", c.key.Namespace, machine)
	}
	if n.ready == ready {
		return nil
	}
	if err := c.report(ctx, n, ready); err != nil {
		return fmt.Errorf("setting node %s ready=%t: %w", n.name, ready, err)
	}
	n.ready = ready
	c.nodes[machine] = n
	c.log.Info("Node changed", "machine", machine, "node", n.name, "ready", ready)
	return nil
}

// report sets the status of a node and all its pods in the API server.
func (c *cluster) report(ctx context.Context, n node, ready bool) error {
	now := time.Now()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
	if err := c.change(ctx, object, func() { setNodeConditions(object, ready, now) }); err != nil {
		return err
	}
	if !n.controlPlane {
		return nil
	}
	for _, component := range staticComponents() {
		pod := staticPod(component, n.name)
		if err := c.change(ctx, pod, func() { setPodConditions(pod, ready, now) }); err != nil {
			return err
		}
	}
	etcd := staticPodName(etcdComponent, n.name)
	if ready {
		return c.serveEtcd(etcd)
	}
	c.frontend.setEtcd(etcd, nil)
	return nil
}

// removeNode removes the node of a machine with its pods and its etcd member.
func (c *cluster) removeNode(ctx context.Context, machine string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[machine]
	var errs []error
	if n.controlPlane {
		etcd := staticPodName(etcdComponent, n.name)
		errs = append(errs, c.electLeader(ctx, etcd))
		c.frontend.setEtcd(etcd, nil)
		for _, component := range staticComponents() {
			errs = append(errs, c.remove(ctx, staticPod(component, n.name)))
		}
	}
	errs = append(errs, c.remove(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("removing node %s of machine %s: %w", n.name, machine, err)
	}
	delete(c.nodes, machine)
	c.log.Info("Node deleted", "machine", machine, "node", n.name)
	return nil
}
