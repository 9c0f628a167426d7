// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotations of a Node. RKE2's control-plane provider sets the first to request that RKE2 removes the node's etcd member. RKE2 sets the
// second when it has removed it.
const (
	rke2Remove  = "etcd.rke2.cattle.io/remove"
	rke2Removed = "etcd.rke2.cattle.io/removed-node-name"
)

// rke2Objects returns the object that RKE2 creates when it has initialized the cluster. Its control-plane provider waits for it.
func rke2Objects() []client.Object {
	return []client.Object{&corev1.Secret{ObjectMeta: system("rke2-serving"), Type: corev1.SecretTypeTLS}}
}

// leavesEtcd reports whether a Node has an etcd member that RKE2 has yet to remove.
func leavesEtcd(node client.Object) bool {
	annotations := node.GetAnnotations()
	return annotations[rke2Remove] == "true" && annotations[rke2Removed] == ""
}

// leaveEtcd removes the etcd members of Nodes for which that was requested, as RKE2 does.
func (c *cluster) leaveEtcd(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if !n.controlPlane {
			continue
		}
		// A list of Nodes fails once a client has patched one: the store then keeps it without its type.
		node := &corev1.Node{}
		if err := c.memory.Get(ctx, client.ObjectKey{Name: n.name}, node); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading node %s: %w", n.name, err)
		}
		if !leavesEtcd(node) {
			continue
		}
		if err := c.removeMember(ctx, node); err != nil {
			return fmt.Errorf("removing the etcd member of node %s: %w", n.name, err)
		}
	}
	return nil
}

// removeMember removes the etcd member of a Node, and reports that on the Node.
func (c *cluster) removeMember(ctx context.Context, node *corev1.Node) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: staticPodName(etcdComponent, node.Name)}}
	if err := c.electLeader(ctx, pod.Name); err != nil {
		return err
	}
	if err := c.change(ctx, pod, func() {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, inmemory.EtcdMemberRemoved, time.Now().Format(time.RFC3339))
	}); err != nil {
		return err
	}
	return c.change(ctx, node, func() { metav1.SetMetaDataAnnotation(&node.ObjectMeta, rke2Removed, node.Name) })
}
