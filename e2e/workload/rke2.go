// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryclient "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/client"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/resourcegroup"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotations of a Node. RKE2's control-plane provider sets the first to request that RKE2 removes the node's etcd member. RKE2 sets the
// second when it has removed it.
const (
	rke2Remove  = "etcd.rke2.cattle.io/remove"
	rke2Removed = "etcd.rke2.cattle.io/removed-node-name"
)

// rke2Member is the annotation in which RKE2 names a Node's etcd member: after the Node, with a suffix of its own. Here the member's Pod has it.
const rke2Member = "etcd.rke2.cattle.io/node-name"

// nameMember names the member of an etcd pod as RKE2 does.
func nameMember(pod *corev1.Pod) {
	id, _ := strconv.ParseUint(pod.Annotations[inmemory.EtcdMemberIDAnnotationName], 10, 32)
	pod.Annotations[rke2Member] = fmt.Sprintf("%s-%08x", pod.Spec.NodeName, id)
}

// memberNames makes the in-memory etcd show the names of RKE2's members. It derives the name of a member from that of its Pod.
type memberNames struct{ inmemoryruntime.Manager }

// GetResourceGroup implements inmemoryruntime.Manager.
func (m memberNames) GetResourceGroup(name string) resourcegroup.ResourceGroup {
	return memberGroup{m.Manager.GetResourceGroup(name)}
}

type memberGroup struct{ resourcegroup.ResourceGroup }

// GetClient implements resourcegroup.ResourceGroup.
func (g memberGroup) GetClient() inmemoryclient.Client {
	return memberClient{g.ResourceGroup.GetClient()}
}

type memberClient struct{ inmemoryclient.Client }

// List renames the Pods of members.
func (c memberClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := c.Client.List(ctx, list, options...); err != nil {
		return err
	}
	pods, is := list.(*corev1.PodList)
	for i := 0; is && i < len(pods.Items); i++ {
		pod := &pods.Items[i]
		_, removed := pod.Annotations[inmemory.EtcdMemberRemoved]
		if name := pod.Annotations[rke2Member]; name != "" && !removed {
			pod.Name = staticPodName(etcdComponent, name)
		}
	}
	return nil
}

// Patch patches the Pod that List renamed.
func (c memberClient) Patch(ctx context.Context, object client.Object, patch client.Patch) error {
	if _, renamed := object.GetAnnotations()[rke2Member]; renamed {
		pod := object.(*corev1.Pod).DeepCopy()
		pod.Name = staticPodName(etcdComponent, pod.Spec.NodeName)
		object = pod
	}
	return c.Client.Patch(ctx, object, patch)
}

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
	pod := staticPod(etcdComponent, node.Name)
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
