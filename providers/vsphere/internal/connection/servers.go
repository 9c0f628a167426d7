// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// Servers returns the vCenters of a cluster with additionalServers, and whether its machines can use them in each of the given
// zones, which the cluster selects. It calls no vCenter.
func (d *Dialer) Servers(ctx context.Context, cluster *infrav1.VSphereCluster, zones []placement.Zone) ([]placement.Server, error) {
	var servers []placement.Server
	for _, name := range cluster.Spec.Servers() {
		server, err := d.serverOf(ctx, cluster, name, zones)
		if err != nil {
			return nil, err
		}
		refuseTwins(servers, &server)
		servers = append(servers, server)
	}
	return servers, nil
}

// serverOf returns one of the cluster's vCenters. Its condition is that of the cluster's own vCenter, or of the worst zone.
func (d *Dialer) serverOf(ctx context.Context, cluster *infrav1.VSphereCluster, name string, zones []placement.Zone) (placement.Server, error) {
	server := placement.Server{Server: name, InstanceUUID: knownUUID(cluster, name), Zones: map[string]metav1.Condition{}}
	server.Available = metav1.Condition{
		Type: infrav1.VSphereClusterVCenterAvailableCondition, Status: metav1.ConditionUnknown, Reason: infrav1.VSphereClusterNoZoneSelectedReason,
		Message: fmt.Sprintf("spec.failureDomainSelector matches no VSphereDeploymentZone of server %s: label the zones, or remove the server from spec.additionalServers", name),
	}
	own := infrav1.SameServer(name, cluster.Spec.Server)
	if own {
		available, err := note(&server)(d.ForCluster(ctx, cluster))
		if err != nil {
			return server, err
		}
		server.Available = available
	}
	for i := range zones {
		zone := &zones[i].VSphereDeploymentZone
		if !infrav1.SameServer(zone.Spec.Server, name) {
			continue
		}
		session, err := d.forMachines(ctx, cluster, zone, zone.Spec.Server, "")
		available, err := note(&server)(session, advise(err, cluster, zone))
		if err != nil {
			return server, err
		}
		server.Zones[zone.Name] = available
		if !own && (len(server.Zones) == 1 || worse(available, server.Available)) {
			server.Available = available
		}
	}
	return server, nil
}

// note returns a function that records what a session, or the error of opening it, shows about a server. The function returns the condition
// of the account.
func note(server *placement.Server) func(*vcenter.Session, error) (metav1.Condition, error) {
	return func(session *vcenter.Session, err error) (metav1.Condition, error) {
		if err != nil && !Waits(err) {
			return metav1.Condition{}, err
		}
		if err == nil {
			server.InstanceUUID = cmp.Or(session.InstanceUUID(), server.InstanceUUID)
		}
		if after := RetryAfter(err); after > 0 {
			server.RetryAfter = after
		}
		return Condition(err), nil
	}
}

// advise completes an error about an account for a zone on another vCenter than the cluster's.
func advise(err error, cluster *infrav1.VSphereCluster, zone *infrav1.VSphereDeploymentZone) error {
	if err == nil || infrav1.SameServer(zone.Spec.Server, cluster.Spec.Server) {
		return err
	}
	if errors.Is(err, identity.ErrNotUsable) {
		return fmt.Errorf("VSphereDeploymentZone %s: %w; or set spec.identityRef of the zone to a VSphereClusterIdentity for that vCenter "+
			"whose allowedNamespaces select namespace %s", zone.Name, err, cluster.Namespace)
	}
	return fmt.Errorf("VSphereDeploymentZone %s: %w", zone.Name, err)
}

func worse(a, b metav1.Condition) bool {
	order := []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionUnknown, metav1.ConditionFalse}
	return slices.Index(order, a.Status) > slices.Index(order, b.Status)
}

// refuseTwins marks a server as not available if it is another name of a vCenter that the cluster uses already: its zones would
// count as failure domains of their own, but fail together with the others.
func refuseTwins(others []placement.Server, server *placement.Server) {
	for _, other := range others {
		if server.InstanceUUID == "" || server.InstanceUUID != other.InstanceUUID {
			continue
		}
		server.Available.Status, server.Available.Reason = metav1.ConditionFalse, infrav1.VSphereClusterSameVCenterReason
		server.Available.Message = fmt.Sprintf("server %s is the same vCenter as %s, with instance UUID %s: use one name in spec.server of the zones, and remove the other from spec.additionalServers",
			server.Server, other.Server, server.InstanceUUID)
		for zone := range server.Zones {
			server.Zones[zone] = server.Available
		}
		return
	}
}

// ForServer returns a session on one of the cluster's servers: with the account of the first usable zone there or, if the last zone
// was deleted before the cluster's modules, with the cluster's account. Zones that the cluster does not select, which would send the
// cluster's account to the vCenter that they name, count only if it selects none there.
func (d *Dialer) ForServer(ctx context.Context, cluster *infrav1.VSphereCluster, server string) (*vcenter.Session, error) {
	if infrav1.SameServer(server, cluster.Spec.Server) {
		return d.ForCluster(ctx, cluster)
	}
	zones, err := placement.Zones(ctx, d.Client)
	if err != nil {
		return nil, err
	}
	there := func(zone placement.Zone) bool { return infrav1.SameServer(zone.Spec.Server, server) }
	if selected := placement.Selected(cluster, zones); slices.ContainsFunc(selected, there) {
		zones = selected
	}
	var first error
	for i := range zones {
		if zone := &zones[i].VSphereDeploymentZone; there(zones[i]) {
			session, err := d.forMachines(ctx, cluster, zone, zone.Spec.Server, "")
			if err == nil {
				return session, nil
			}
			if first == nil {
				first = err
			}
		}
	}
	if first != nil {
		return nil, first
	}
	if !slices.ContainsFunc(cluster.Spec.ClusterModules, func(module infrav1.ClusterModule) bool { return infrav1.SameServer(module.Server, server) }) {
		return nil, fmt.Errorf("%w: there is no VSphereDeploymentZone on server %s", identity.ErrNotUsable, server)
	}
	session, err := d.forMachines(ctx, cluster, nil, server, "")
	if err != nil {
		return nil, fmt.Errorf("no VSphereDeploymentZone is on that server, and with the cluster's account: %w; or create a VSphereDeploymentZone on server %s "+
			"with the identityRef and thumbprint of the deleted one", err, server)
	}
	return session, nil
}
