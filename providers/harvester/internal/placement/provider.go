// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/text"
)

// Connections returns the connection to a cluster's Harvester.
type Connections interface {
	Get(context.Context, harvester.Target, harvester.Requester) (*harvester.Connection, *harvester.Problem)
}

// Harvester implements provider.Provider with the cached Nodes of Harvester.
type Harvester struct {
	// Client reads the management cluster from a cache.
	Client      client.Reader
	Connections Connections
}

var _ provider.Provider = Harvester{}

// Name returns clusterctl's name of the provider.
func (Harvester) Name() string { return "harvester" }

// NewCluster returns an empty HarvesterCluster.
func (Harvester) NewCluster() provider.Cluster { return &infrav1.HarvesterCluster{} }

// NewMachine returns an empty HarvesterMachine.
func (Harvester) NewMachine() client.Object { return &infrav1.HarvesterMachine{} }

// Domains observes the hosts of each failure domain of the cluster. While Harvester cannot be read, it returns the known domains.
func (h Harvester) Domains(ctx context.Context, cluster provider.Cluster) ([]distribution.DomainObservation, error) {
	of, ok := cluster.(*infrav1.HarvesterCluster)
	if !ok {
		return nil, fmt.Errorf("reading failure domains: %T is not a HarvesterCluster", cluster)
	}
	hosts, problem := h.hosts(ctx, of)
	return Observe(of, hosts, problem), nil
}

// Capabilities returns the optional functions for machines with a nodeAffinity, and for clusters whose logical failure domains are kept
// apart by host.
func (h Harvester) Capabilities() provider.Capabilities {
	return provider.Capabilities{Unsuited: h.Unsuited, SeparatesWithin: h.SeparatesWithin}
}

// SeparatesWithin reports whether Harvester's scheduler keeps logical failure domains apart by host.
func (Harvester) SeparatesWithin(cluster provider.Cluster) bool {
	of, ok := cluster.(*infrav1.HarvesterCluster)
	return ok && ApartByHost(of)
}

// Observe returns observations of the cluster's failure domains from hosts, or from problem if the hosts could not be read.
func Observe(cluster *infrav1.HarvesterCluster, hosts []Host, problem *harvester.Problem) []distribution.DomainObservation {
	if problem != nil {
		return Unobserved(cluster, problem.Reason, problem.Message)
	}
	return Observations(cluster, hosts)
}

func (h Harvester) hosts(ctx context.Context, cluster *infrav1.HarvesterCluster) ([]Host, *harvester.Problem) {
	conn, problem := h.Connections.Get(ctx, harvester.TargetOf(cluster), harvester.Requester{Kind: harvester.Cluster, Key: client.ObjectKeyFromObject(cluster)})
	if problem != nil {
		return nil, problem
	}
	return ReadHosts(ctx, conn)
}

// ReadHosts lists the hosts of a Harvester. It returns a problem if they cannot be listed or may be stale.
func ReadHosts(ctx context.Context, conn *harvester.Connection) ([]Host, *harvester.Problem) {
	if stale := conn.Stale(); stale != nil {
		return nil, stale
	}
	nodes := &corev1.NodeList{}
	switch err := conn.List(ctx, nodes, client.UnsafeDisableDeepCopy); { // the list is only read
	case err == nil:
		return Hosts(nodes.Items), nil
	case errors.Is(err, harvester.ErrSyncing):
		return nil, &harvester.Problem{Pending: true, Reason: infrav1.HarvesterConnectingReason, Message: err.Error()}
	default:
		if denied := harvester.Denied(err); denied != nil {
			return nil, denied
		}
		return nil, &harvester.Problem{Reason: infrav1.HarvesterConnectionFailedReason, Message: fmt.Sprintf("reading the hosts of Harvester: %v", text.SteadyError(err))}
	}
}

// MayBeStale reports whether the problem of a connection means that its caches may be stale. A missing right for one kind does not
// make the caches of others stale.
func MayBeStale(problem *harvester.Problem) bool {
	return problem != nil && problem.Reason != infrav1.HarvesterAccessDeniedReason
}

// Location reports a machine as existing as soon as an address may be allocated to it. A virtual machine that was created but not
// recorded is found by its id, whichever domain the machine has been assigned in the meantime.
func (Harvester) Location(machine client.Object) provider.Location {
	of, ok := machine.(*infrav1.HarvesterMachine)
	if !ok {
		return provider.Location{}
	}
	return provider.Location{
		Domain: of.Status.FailureDomain,
		Exists: of.Spec.ProviderID != "" || of.Status.FailureDomain != "" || of.Status.AllocatedIPAddress != "" ||
			conditions.IsTrue(of, infrav1.MachineCreatedCondition),
	}
}

// Unsuited returns why no host of the domain satisfies spec.nodeAffinity of the machine; "" if one does or the hosts cannot be read.
func (h Harvester) Unsuited(ctx context.Context, machine client.Object, domain string) (string, error) {
	of, ok := machine.(*infrav1.HarvesterMachine)
	if !ok {
		return "", fmt.Errorf("finding a host: %T is not a HarvesterMachine", machine)
	}
	if of.Spec.NodeAffinity == nil {
		return "", nil
	}
	cluster, err := h.clusterOf(ctx, of)
	if err != nil || cluster == nil {
		return "", err
	}
	hosts, problem := h.hosts(ctx, cluster)
	if problem != nil {
		return "", nil //nolint:nilerr // what cannot be seen rules nothing out
	}
	topology, refusal := Resolve(cluster, hosts, domain)
	if refusal.Reason != "" {
		return refusal.Message, nil
	}
	return Unsuited(of.Spec.NodeAffinity, hosts, topology), nil
}

// clusterOf returns the HarvesterCluster of a machine; nil if it does not exist.
func (h Harvester) clusterOf(ctx context.Context, machine *infrav1.HarvesterMachine) (*infrav1.HarvesterCluster, error) {
	cluster, err := reconcile.ClusterOf(ctx, h.Client, machine)
	if err != nil || cluster == nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	return reconcile.Find(ctx, h.Client, key, &infrav1.HarvesterCluster{})
}
