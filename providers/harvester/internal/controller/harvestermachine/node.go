// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// NodeIndexes returns the indexes that the caches of workload clusters must have.
func NodeIndexes() []clustercache.CacheOptionsIndex {
	return []clustercache.CacheOptionsIndex{clustercache.NodeProviderIDIndex}
}

// StripNode drops the unused fields of a Node from the caches of workload clusters.
func StripNode(node *corev1.Node) {
	id, addresses := node.Spec.ProviderID, node.Status.Addresses
	nodes.StripNode(node)
	node.Spec.ProviderID, node.Status.Addresses = id, addresses
}

// linkNode initializes the virtual machine's Node so that Cluster API links it to the Machine. Once linked, a machine does not
// wait for its Node again, but it is not ready while the virtual machine is not running.
func (r *Reconciler) linkNode(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if !s.provisioned() {
		status.False(s.infra, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureProvisioningInProgressReason, s.unprovisionedMessage())
		return reconcile.Wait, nil
	}
	waiting, err := r.reconcileNode(ctx, s)
	linked := s.machine.Status.NodeRef.IsDefined()
	switch {
	case err != nil && !errors.Is(err, clustercache.ErrClusterNotConnected):
		return reconcile.Wait, err
	case linked:
	case err != nil:
		waiting = &refusal{reason: infrav1.WaitingForNodeReason, message: "Waiting for a connection to the workload cluster"}
	}
	if s.reportNotRunning() {
		return reconcile.Wait, nil
	}
	if waiting != nil && !linked {
		status.False(s.infra, infrav1.InfrastructureReadyCondition, waiting.reason, waiting.message)
		return reconcile.Wait, nil
	}
	status.True(s.infra, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)
	return reconcile.Proceed, nil
}

// reportNotRunning reports whether the virtual machine is not running, or in an unknown state, and copies that condition into
// InfrastructureReady.
func (s *scope) reportNotRunning() bool {
	running := conditions.Get(s.infra, infrav1.VMRunningCondition)
	if running == nil || running.Status == metav1.ConditionTrue {
		return false
	}
	conditions.Set(s.infra, metav1.Condition{
		Type: infrav1.InfrastructureReadyCondition, Status: running.Status, Reason: running.Reason, Message: running.Message,
	})
	return true
}

// unprovisionedMessage returns what the machine waits for before it is provisioned.
func (s *scope) unprovisionedMessage() string {
	if conditions.IsTrue(s.infra, infrav1.VMRunningCondition) && len(s.infra.Status.Addresses) == 0 {
		return fmt.Sprintf("VirtualMachine %s has no address, because its guest agent reports none: check that qemu-guest-agent runs in the guest, and that DHCP works there", s.vmKey())
	}
	return fmt.Sprintf("Waiting for VirtualMachine %s to run", s.vmKey())
}

// reconcileNode sets the Node's provider ID and, without a cloud provider, its addresses, and initializes it. It returns nil if there is
// nothing to wait for.
func (r *Reconciler) reconcileNode(ctx context.Context, s *scope) (waiting *refusal, _ error) {
	cluster := client.ObjectKeyFromObject(s.cluster)
	if err := r.watchNodes(ctx, cluster); err != nil {
		return nil, err
	}
	node, err := r.node(ctx, s)
	id := s.infra.Spec.ProviderID
	switch {
	case err != nil:
		return nil, err
	case node == nil:
		return &refusal{reason: infrav1.WaitingForNodeReason, message: fmt.Sprintf("Waiting for Node %s to join", s.vmKey().Name)}, nil
	case node.Spec.ProviderID != "" && node.Spec.ProviderID != id:
		return &refusal{reason: infrav1.UnexpectedProviderIDReason, message: fmt.Sprintf(
			"Node %s has provider ID %s, which is not %s: delete the Node or the Machine", node.Name, node.Spec.ProviderID, id)}, nil
	}
	byCloud := s.infraCluster.Spec.UpdateCloudProviderConfig != infrav1.UpdateCloudProviderConfig{}
	return nil, r.initializeNode(ctx, s, node, byCloud)
}

// initializeNode writes the provider ID to the Node and, without a cloud provider, its addresses, and initializes it.
func (r *Reconciler) initializeNode(ctx context.Context, s *scope, node *corev1.Node, byCloud bool) error {
	cluster, id := client.ObjectKeyFromObject(s.cluster), s.infra.Spec.ProviderID
	// Addresses come first: no pod should run on the Node before the Node can be reached.
	if addresses := nodes.Addresses(s.infra.Status.Addresses); !byCloud && addressesOutdated(node, addresses) {
		if err := nodes.SetAddresses(ctx, r.Workloads, cluster, node, addresses); err != nil {
			return err
		}
	}
	if node.Spec.ProviderID == id && (byCloud || !nodes.Uninitialized(node)) {
		return nil
	}
	return nodes.Patch(ctx, r.Workloads, cluster, node, func(node *corev1.Node) {
		node.Spec.ProviderID = id
		if !byCloud {
			nodes.Initialize(node)
		}
	})
}

// addressesOutdated reports whether the Node's addresses must be written: it has none yet, or had others written by Faultline. Only
// Faultline writes an InternalDNS address, so the addresses of a Node without one come from another component.
func addressesOutdated(node *corev1.Node, addresses []corev1.NodeAddress) bool {
	byUs := slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalDNS })
	return nodes.Uninitialized(node) || byUs && !slices.Equal(node.Status.Addresses, addresses)
}

// node finds the Node by its provider ID, or else by the name of the virtual machine; nil if neither exists.
func (r *Reconciler) node(ctx context.Context, s *scope) (*corev1.Node, error) {
	reader, err := r.Workloads.GetReader(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return nil, err
	}
	found, err := nodes.By(ctx, reader, client.MatchingFields{clustercache.NodeProviderIDIndex.Field: s.infra.Spec.ProviderID})
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return &found[0], nil
	}
	node := &corev1.Node{}
	if err := reader.Get(ctx, client.ObjectKey{Name: s.vmKey().Name}, node); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading Node %s: %w", s.vmKey().Name, err)
	}
	return node, nil
}

// watchNodes makes Nodes of a workload cluster enqueue the machines whose virtual machines have their names. It is idempotent.
func (r *Reconciler) watchNodes(ctx context.Context, cluster client.ObjectKey) error {
	nodesWatch := nodes.Watch{Name: "harvestermachine-nodes", Workloads: r.Workloads, Controller: r.controller, Identity: identityOf}
	return nodesWatch.Start(ctx, cluster, r.machineOfNode(cluster.Namespace))
}

func (r *Reconciler) machineOfNode(namespace string) handler.MapFunc {
	return func(ctx context.Context, node client.Object) []ctrl.Request {
		return watch.Requests[*infrav1.HarvesterMachine](ctx, r.Client, &infrav1.HarvesterMachineList{}, nil,
			client.InNamespace(namespace), client.MatchingFields{nameIndex: node.GetName()})
	}
}

// identityOf returns the fields of a Node that show which machine it belongs to and whether it is initialized.
func identityOf(node *corev1.Node) string {
	return fmt.Sprint(node.Spec.ProviderID, nodes.Uninitialized(node))
}
