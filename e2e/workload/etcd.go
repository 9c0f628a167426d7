// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An etcd cluster is the set of etcd pods. Both the in-memory etcd and this file keep the state of each member in its pod's annotations:
//   - all members have the same cluster ID, and each has its own member ID;
//   - a member that a client removed is marked as removed, and its pod remains;
//   - the leader is the member with the latest "leader from" time. That time has a resolution of one second, so a change of the leader
//     must also remove the mark from the old one.

// members returns the pods of the current members, ordered by name.
func (c *cluster) members(ctx context.Context) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	err := c.memory.List(ctx, list, client.InNamespace(metav1.NamespaceSystem),
		client.MatchingLabels{componentLabel: etcdComponent, tierLabel: controlPlane})
	if err != nil {
		return nil, fmt.Errorf("listing etcd members: %w", err)
	}
	var members []*corev1.Pod
	for i := range list.Items {
		if _, removed := list.Items[i].Annotations[inmemory.EtcdMemberRemoved]; !removed {
			members = append(members, &list.Items[i])
		}
	}
	slices.SortFunc(members, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return members, nil
}

// Member is a member of a simulated cluster's etcd.
type Member struct {
	// Machine is the machine that it runs on.
	Machine string
	Healthy bool
}

// Members returns the members of a cluster's etcd, ordered by the names of their nodes; none if the cluster is not simulated.
func (s *Simulator) Members(ctx context.Context, cluster client.ObjectKey) ([]Member, error) {
	c := s.cluster(cluster)
	if c == nil {
		return nil, nil
	}
	pods, err := c.members(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	members := make([]Member, 0, len(pods))
	for _, pod := range pods {
		m := Member{Machine: pod.Spec.NodeName, Healthy: isReady(pod)}
		for machine, node := range c.nodes {
			if node.name == pod.Spec.NodeName {
				m.Machine = machine
			}
		}
		members = append(members, m)
	}
	return members, nil
}

// joinEtcd marks pod as a new member, and as the leader if it is the first.
func (c *cluster) joinEtcd(ctx context.Context, pod *corev1.Pod) error {
	members, err := c.members(ctx)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	clusterID := newEtcdID(nil)
	for _, member := range members {
		clusterID = member.Annotations[inmemory.EtcdClusterIDAnnotationName]
		taken[member.Annotations[inmemory.EtcdMemberIDAnnotationName]] = true
	}
	pod.Annotations[inmemory.EtcdClusterIDAnnotationName] = clusterID
	pod.Annotations[inmemory.EtcdMemberIDAnnotationName] = newEtcdID(taken)
	if len(members) == 0 {
		pod.Annotations[inmemory.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
	}
	return nil
}

// newEtcdID returns an unused ID; 0 means none in etcd.
func newEtcdID(taken map[string]bool) string {
	for {
		id := strconv.FormatUint(uint64(rand.Uint32()), 10)
		if id != "0" && !taken[id] {
			return id
		}
	}
}

// electLeader makes a healthy member the leader if the current one is down or leaving, as real members would do. leaving is the name of a
// pod; "" for none.
func (c *cluster) electLeader(ctx context.Context, leaving string) error {
	members, err := c.members(ctx)
	if err != nil {
		return err
	}
	eligible := func(pod *corev1.Pod) bool { return isReady(pod) && pod.Name != leaving }
	leader := leaderOf(members)
	successor := slices.IndexFunc(members, eligible)
	if successor < 0 || leader != nil && eligible(leader) {
		return nil
	}
	for i, member := range members {
		err := c.change(ctx, member, func() {
			delete(member.Annotations, inmemory.EtcdLeaderFromAnnotationName)
			if i == successor {
				member.Annotations[inmemory.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
			}
		})
		if err != nil {
			return fmt.Errorf("electing etcd leader %s: %w", members[successor].Name, err)
		}
	}
	return nil
}

func leaderOf(members []*corev1.Pod) *corev1.Pod {
	var leader *corev1.Pod
	var latest time.Time
	for _, member := range members {
		since, err := time.Parse(time.RFC3339, member.Annotations[inmemory.EtcdLeaderFromAnnotationName])
		if err == nil && since.After(latest) {
			leader, latest = member, since
		}
	}
	return leader
}

// hasQuorum reports whether more than half of the etcd members are up.
func (c *cluster) hasQuorum(ctx context.Context) (bool, error) {
	members, err := c.members(ctx)
	if err != nil {
		return false, err
	}
	up := 0
	for _, member := range members {
		if isReady(member) {
			up++
		}
	}
	return up > len(members)/2, nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// settle must be called after a change of the control plane. It ensures an etcd leader and opens or closes the endpoint. Before the first
// control plane is up, the endpoint is open with an empty API server, because controllers wait half a minute after a failed connection.
// From then on it requires a quorum.
func (c *cluster) settle(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.electLeader(ctx, ""); err != nil {
		return err
	}
	quorum, err := c.hasQuorum(ctx)
	open := c.pki != nil && (quorum || !c.initialised)
	if err != nil || open == c.frontend.isOpen() {
		return err
	}
	c.frontend.setOpen(open)
	c.log.Info("API server changed", "up", open, "address", c.frontend.Addr().String())
	// Machines may have waited for this.
	c.wake()
	return nil
}
