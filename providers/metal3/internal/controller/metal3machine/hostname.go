// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/nodes"
)

const (
	// nodeHostnameIndex indexes the Nodes of a workload cluster by hostname.
	nodeHostnameIndex = "metadata.labels[" + corev1.LabelHostname + "]"
	// hostHostnameIndex indexes BareMetalHosts by the hostname found by inspection.
	hostHostnameIndex = "status.hardware.hostname"
)

// hostnameOf returns the value for hostHostnameIndex.
func hostnameOf(host *bmov1alpha1.BareMetalHost) string {
	if host.Status.HardwareDetails == nil {
		return ""
	}
	return host.Status.HardwareDetails.Hostname
}

// recognizeNode returns the provider ID of a machine that boots with bootstrap data provided by the user. Such data may not set
// the host's UID on the Node, and the Node may not even join the cluster, so the machine does not wait for it: the user may set
// the provider ID. If a Node is found without a provider ID, recognizeNode sets it.
func (r *Reconciler) recognizeNode(ctx context.Context, s *scope) (string, error) {
	providerID := s.providerID()
	err := r.watchNodes(ctx, s)
	var found []corev1.Node
	if err == nil {
		found, err = r.nodesOfHost(ctx, s)
	}
	if err == nil && len(found) == 0 {
		found, err = r.nodesOfHostname(ctx, s)
	}
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return providerID, nil // the connection triggers an event
	}
	if err != nil {
		return "", err
	}
	node, waiting := s.nodeAmong(found)
	switch {
	case waiting.reason != "":
		return providerID, nil
	case node.Spec.ProviderID != "":
		return node.Spec.ProviderID, nil
	default:
		return providerID, r.setProviderID(ctx, s, node, providerID)
	}
}

// nodesOfHostname returns the Nodes with the machine's hostname, unless several hosts have that hostname.
func (r *Reconciler) nodesOfHostname(ctx context.Context, s *scope) ([]corev1.Node, error) {
	for _, address := range s.infra.Status.Addresses {
		if address.Type != clusterv1.MachineHostName || address.Address == "" {
			continue
		}
		list := &bmov1alpha1.BareMetalHostList{}
		if err := r.Client.List(ctx, list, client.InNamespace(s.infra.Namespace), client.MatchingFields{hostHostnameIndex: address.Address},
			client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing BareMetalHosts with hostname %s: %w", address.Address, err)
		}
		if len(list.Items) > 1 {
			return nil, nil
		}
		reader, err := r.Workloads.GetReader(ctx, client.ObjectKeyFromObject(s.cluster))
		if err != nil {
			return nil, err
		}
		return nodes.By(ctx, reader, client.MatchingFields{nodeHostnameIndex: address.Address})
	}
	return nil, nil
}
