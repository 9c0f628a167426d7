// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider"
)

// VSphere implements provider.Provider. It reads zones and failure domains from a cache.
type VSphere struct {
	Client client.Reader
	// VCenters returns the vCenters of a cluster with several. Only Domains needs it.
	VCenters interface {
		Servers(context.Context, *infrav1.VSphereCluster, []Zone) ([]Server, error)
	}
}

var _ provider.Provider = VSphere{}

// Name returns the provider's name in clusterctl.
func (VSphere) Name() string { return "vsphere" }

// NewCluster returns an empty VSphereCluster.
func (VSphere) NewCluster() provider.Cluster { return &infrav1.VSphereCluster{} }

// NewMachine returns an empty VSphereMachine.
func (VSphere) NewMachine() client.Object { return &infrav1.VSphereMachine{} }

// Capabilities returns none: a machine can run on every host of a zone.
func (VSphere) Capabilities() provider.Capabilities { return provider.Capabilities{} }

// Domains returns the state of the zones that the cluster selects.
func (v VSphere) Domains(ctx context.Context, cluster provider.Cluster) ([]distribution.DomainObservation, error) {
	vsphere, ok := cluster.(*infrav1.VSphereCluster)
	if !ok {
		return nil, fmt.Errorf("listing failure domains: %T is not a VSphereCluster", cluster)
	}
	zones, err := Zones(ctx, v.Client)
	if err != nil {
		return nil, err
	}
	zones = Selected(vsphere, zones)
	var servers []Server
	if len(vsphere.Spec.AdditionalServers) > 0 {
		if servers, err = v.VCenters.Servers(ctx, vsphere, zones); err != nil {
			return nil, err
		}
	}
	return Observations(zones, servers), nil
}

// Location returns the failure domain of a machine. The machine counts as existing once its placement was decided, which is then
// recorded in its VSphereVM.
func (VSphere) Location(machine client.Object) provider.Location {
	vsphere, ok := machine.(*infrav1.VSphereMachine)
	if !ok {
		return provider.Location{}
	}
	return provider.Location{
		Domain: ptr.Deref(vsphere.Status.FailureDomain, ""),
		Exists: conditions.IsTrue(vsphere, infrav1.VSphereMachinePlacementReadyCondition) || vsphere.Provisioned(),
	}
}
