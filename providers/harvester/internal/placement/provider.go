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

// Connections gives the connection of a cluster's Harvester.
type Connections interface {
	Get(context.Context, harvester.Target, harvester.Asker) (*harvester.Connection, *harvester.Problem)
}

// Harvester reads Nodes of Harvester from informers.
type Harvester struct {
	// Client reads the management cluster from a cache.
	Client      client.Reader
	Connections Connections
}

var _ provider.Provider = Harvester{}

// Name is clusterctl's.
func (Harvester) Name() string { return "harvester" }

// NewCluster makes an empty HarvesterCluster.
func (Harvester) NewCluster() provider.Cluster { return &infrav1.HarvesterCluster{} }

// NewMachine makes an empty HarvesterMachine.
func (Harvester) NewMachine() client.Object { return &infrav1.HarvesterMachine{} }

// Domains observes the hosts of each failure domain of the cluster. While Harvester cannot be looked at, they are those that are known.
func (h Harvester) Domains(ctx context.Context, cluster provider.Cluster) ([]distribution.Observation, error) {
	of, ok := cluster.(*infrav1.HarvesterCluster)
	if !ok {
		return nil, fmt.Errorf("looking at failure domains: %T is no HarvesterCluster", cluster)
	}
	hosts, problem := h.hosts(ctx, of)
	return Observe(of, hosts, problem), nil
}

// Capabilities are those of machines with a nodeAffinity, and of clusters whose logical failure domains are kept apart by host.
func (h Harvester) Capabilities() provider.Capabilities {
	return provider.Capabilities{Unsuited: h.Unsuited, SeparatesWithin: h.SeparatesWithin}
}

// SeparatesWithin reports whether the scheduler of Harvester keeps logical failure domains apart by host.
func (Harvester) SeparatesWithin(cluster provider.Cluster) bool {
	of, ok := cluster.(*infrav1.HarvesterCluster)
	return ok && ApartByHost(of)
}

// Observe is what is seen of the failure domains of the cluster, by hosts that were read, or could not be for a problem.
func Observe(cluster *infrav1.HarvesterCluster, hosts []Host, problem *harvester.Problem) []distribution.Observation {
	if problem != nil {
		return Unseen(cluster, problem.Reason, problem.Message)
	}
	return Observations(cluster, hosts)
}

func (h Harvester) hosts(ctx context.Context, cluster *infrav1.HarvesterCluster) ([]Host, *harvester.Problem) {
	conn, problem := h.Connections.Get(ctx, harvester.TargetOf(cluster), harvester.Asker{Kind: harvester.Cluster, Key: client.ObjectKeyFromObject(cluster)})
	if problem != nil {
		return nil, problem
	}
	return ReadHosts(ctx, conn)
}

// ReadHosts reads the hosts of a Harvester, or says why what is known of them is nothing, or may be old.
func ReadHosts(ctx context.Context, conn *harvester.Connection) ([]Host, *harvester.Problem) {
	if stale := conn.Stale(); stale != nil {
		return nil, stale
	}
	nodes := &corev1.NodeList{}
	switch err := conn.List(ctx, nodes, client.UnsafeDisableDeepCopy); { // they are only looked at
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

// MayBeOld reports whether the trouble of a connection is that what it shows may be old. A right that is missing for one kind does not make what
// is shown of others old.
func MayBeOld(trouble *harvester.Problem) bool {
	return trouble != nil && trouble.Reason != infrav1.HarvesterAccessDeniedReason
}

// Place counts a machine as existing from the moment in which an address may be its own. A virtual machine that was made and not noted is found
// again by its id, whichever domain the machine has been assigned meanwhile.
func (Harvester) Place(machine client.Object) provider.Place {
	of, ok := machine.(*infrav1.HarvesterMachine)
	if !ok {
		return provider.Place{}
	}
	return provider.Place{
		Domain: of.Status.FailureDomain,
		Exists: of.Spec.ProviderID != "" || of.Status.FailureDomain != "" || of.Status.AllocatedIPAddress != "" ||
			conditions.IsTrue(of, infrav1.MachineCreatedCondition),
	}
}

// Unsuited says why no host of the domain suits what spec.nodeAffinity of the machine requires.
func (h Harvester) Unsuited(ctx context.Context, machine client.Object, domain string) (string, error) {
	of, ok := machine.(*infrav1.HarvesterMachine)
	if !ok {
		return "", fmt.Errorf("looking for a host: %T is no HarvesterMachine", machine)
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
	topology, nowhere := Resolve(cluster, hosts, domain)
	if nowhere.Reason != "" {
		return nowhere.Message, nil
	}
	return Unsuited(of.Spec.NodeAffinity, hosts, topology), nil
}

// clusterOf finds the HarvesterCluster of a machine; nil when there is none.
func (h Harvester) clusterOf(ctx context.Context, machine *infrav1.HarvesterMachine) (*infrav1.HarvesterCluster, error) {
	cluster, err := reconcile.ClusterOf(ctx, h.Client, machine)
	if err != nil || cluster == nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	return reconcile.Find(ctx, h.Client, key, &infrav1.HarvesterCluster{})
}
