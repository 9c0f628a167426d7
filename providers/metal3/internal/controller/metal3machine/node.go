// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// NodeUUIDIndex indexes the Nodes of a workload cluster by the UID of their host. The reconciler's ClusterCache must have this
// index and the index of provider IDs.
const NodeUUIDIndex = "metadata.labels[" + infrav1.NodeUUIDLabel + "]"

// NodeIndexes returns the indexes that the ClusterCache requires.
func NodeIndexes() []clustercache.CacheOptionsIndex {
	return []clustercache.CacheOptionsIndex{clustercache.NodeProviderIDIndex, {
		Object: &corev1.Node{}, Field: NodeUUIDIndex,
		ExtractValue: func(node client.Object) []string {
			if uid := node.GetLabels()[infrav1.NodeUUIDLabel]; uid != "" {
				return []string{uid}
			}
			return nil
		},
	}, {
		Object: &corev1.Node{}, Field: nodeHostnameIndex,
		ExtractValue: func(node client.Object) []string { return []string{node.GetLabels()[corev1.LabelHostname]} },
	}}
}

// linkNode links the Node of the host to the machine. A machine that was linked once no longer waits for its Node.
func (r *Reconciler) linkNode(ctx context.Context, s *scope) (reconcile.Progress, error) {
	linked := ptr.Deref(s.infra.Status.Initialization.Provisioned, false)
	id, waiting, err := r.nodeProviderID(ctx, s)
	switch {
	case err != nil && !errors.Is(err, clustercache.ErrClusterNotConnected):
		return reconcile.Wait, err
	case err != nil && !linked:
		markUnprovisioned(s, infrav1.Metal3MachineWaitingForNodeReason, "Waiting for a connection to the workload cluster")
		return reconcile.Wait, nil
	case waiting.reason != "" && !linked:
		markUnprovisioned(s, waiting.reason, waiting.message)
		return reconcile.Wait, nil
	case err == nil && waiting.reason == "":
		s.infra.Spec.ProviderID = id
	}
	s.infra.Status.Initialization.Provisioned = ptr.To(true)
	status.True(s.infra, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisionedReason)
	return reconcile.Proceed, nil
}

// waitReason is why a machine has no Node yet; its reason is "" if it has one.
type waitReason struct{ reason, message string }

// nodeProviderID returns the provider ID of the machine's Node. It sets the provider ID unless a cloud provider does.
func (r *Reconciler) nodeProviderID(ctx context.Context, s *scope) (string, waitReason, error) {
	providerID := s.providerID()
	byCloud := s.infraCluster != nil && ptr.Deref(s.infraCluster.Spec.CloudProviderEnabled, false)
	if !byCloud && !s.machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		id, err := r.recognizeNode(ctx, s)
		return id, waitReason{}, err
	}
	if err := r.watchNodes(ctx, s); err != nil {
		return "", waitReason{}, err
	}
	found, err := r.nodesOfHost(ctx, s)
	if err != nil {
		return "", waitReason{}, err
	}
	node, waiting := s.nodeAmong(found)
	switch {
	case waiting.reason != "":
		return "", waiting, nil
	case node.Spec.ProviderID != "":
		return node.Spec.ProviderID, waitReason{}, nil
	case byCloud:
		return "", waitReason{infrav1.Metal3MachineWaitingForNodeReason, fmt.Sprintf("Waiting for a cloud provider to set the provider ID of Node %s to %s", node.Name, providerID)}, nil
	default:
		return providerID, waitReason{}, r.setProviderID(ctx, s, node, providerID)
	}
}

func (s *scope) providerID() string {
	return fmt.Sprintf("%s%s/%s/%s", infrav1.ProviderIDPrefix, s.infra.Namespace, s.host.Name, s.infra.Name)
}

// legacyProviderID returns the provider ID format of early releases.
func (s *scope) legacyProviderID() string {
	return infrav1.ProviderIDPrefix + string(s.host.UID)
}

// nodesOfHost returns the Nodes that claim to run on the machine's host, found by provider ID and by the UID of the host.
func (r *Reconciler) nodesOfHost(ctx context.Context, s *scope) ([]corev1.Node, error) {
	reader, err := r.Workloads.GetReader(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return nil, err
	}
	return nodes.By(ctx, reader,
		client.MatchingFields{clustercache.NodeProviderIDIndex.Field: s.providerID()},
		client.MatchingFields{clustercache.NodeProviderIDIndex.Field: s.legacyProviderID()},
		client.MatchingFields{NodeUUIDIndex: string(s.host.UID)})
}

// nodeAmong returns the machine's Node, ignoring stale Nodes of machines that used the host before.
func (s *scope) nodeAmong(found []corev1.Node) (*corev1.Node, waitReason) {
	var fresh *corev1.Node
	foreign := waitReason{}
	for i := range found {
		node := &found[i]
		switch id := node.Spec.ProviderID; {
		case id == s.providerID() || id == s.legacyProviderID():
			return node, waitReason{}
		case id == "" && fresh != nil:
			return nil, waitReason{infrav1.Metal3MachineAmbiguousNodeReason, fmt.Sprintf("Nodes %s and %s both have the label %s=%s: delete the one that is not running",
				fresh.Name, node.Name, infrav1.NodeUUIDLabel, s.host.UID)}
		case id == "":
			fresh = node
		case !strings.HasPrefix(id, strings.TrimSuffix(s.providerID(), s.infra.Name)):
			foreign = waitReason{infrav1.Metal3MachineUnexpectedProviderIDReason, fmt.Sprintf("Node %s has provider ID %s, which is not %s: delete the Node or the Machine",
				node.Name, id, s.providerID())}
		}
	}
	switch {
	case fresh != nil:
		return fresh, waitReason{}
	case foreign.reason != "":
		return nil, foreign
	default:
		return nil, waitReason{infrav1.Metal3MachineWaitingForNodeReason, fmt.Sprintf("Waiting for a Node with label %s=%s or provider ID %s",
			infrav1.NodeUUIDLabel, s.host.UID, s.providerID())}
	}
}

func (r *Reconciler) setProviderID(ctx context.Context, s *scope, node *corev1.Node, id string) error {
	return nodes.Patch(ctx, r.Workloads, client.ObjectKeyFromObject(s.cluster), node, func(node *corev1.Node) { node.Spec.ProviderID = id })
}
