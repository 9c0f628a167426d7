// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

const (
	// Machines is the number of machines when the cluster is created.
	Machines = 5
	// kinds is the number of the provider's kinds.
	kinds = 8
)

//go:embed cluster.yaml
var clusterYAML []byte

//go:embed zone.yaml
var zoneYAML []byte

// Cluster is a workload cluster over three zones, with manifests of upstream's provider before v1beta2. Either manager can manage it.
type Cluster struct {
	Managed

	VCenter *VCenter
}

// Create creates the zones and the cluster.
func (c Cluster) Create(ctx context.Context) error {
	host, port, err := c.Workload.Endpoint(Namespace, name)
	if err != nil {
		return fmt.Errorf("choosing the control plane's endpoint: %w", err)
	}
	password, _ := c.VCenter.user.Password()
	variables := map[string]string{
		"USERNAME": c.VCenter.user.Username(), "PASSWORD": password,
		"SERVER": c.VCenter.host(), "THUMBPRINT": c.VCenter.server.CertificateInfo().ThumbprintSHA1, "TEMPLATE": template,
		"HOST": host, "PORT": strconv.Itoa(port), "VERSION": binaries.KubernetesVersion, "REGION": region,
	}
	for i := range datacenters {
		variables["ZONE"], variables["DATACENTER"], variables["COMPUTE_CLUSTER"] = zoneOf(i), datacenterOf(i), computeClusterOf(i)
		if err := c.create(ctx, zoneYAML, variables); err != nil {
			return err
		}
	}
	return c.create(ctx, clusterYAML, variables)
}

// ScaleUp adds a worker without a zone.
func (c Cluster) ScaleUp(ctx context.Context) error { return c.scaleWorkersUp(ctx, "anywhere") }

// Migrated returns a kind that is not stored only in v1beta2.
func (c Cluster) Migrated(ctx context.Context) (missing string, err error) {
	return c.migrated(ctx, vsphere.Provider{}.Describe().Name, kinds)
}

// Gone returns what is left of the cluster, except its zones: objects, or virtual machines.
func (c Cluster) Gone(ctx context.Context) (missing string, err error) {
	if left, err := c.gone(ctx, "VSphereMachine", "VSphereVM", "VSphereCluster"); left != "" || err != nil {
		return left, err
	}
	machines, err := c.VCenter.machines(ctx)
	if len(machines) > 0 || err != nil {
		return fmt.Sprintf("deletion of %d virtual machines", len(machines)), err
	}
	return "", nil
}

// DeleteZones deletes the zones like kubectl delete -f with upstream's manifests: one with its failure domain before it, the others
// alone.
func (c Cluster) DeleteZones(ctx context.Context) error {
	domains, err := c.list(ctx, "v1beta1", "VSphereFailureDomain")
	if err != nil {
		return err
	}
	zones, err := c.list(ctx, "v1beta1", "VSphereDeploymentZone")
	if err != nil {
		return err
	}
	if len(domains) != datacenters || len(zones) != datacenters {
		return fmt.Errorf("there are %d failure domains and %d zones, want %d of each", len(domains), len(zones), datacenters)
	}
	if err := c.Client.Delete(ctx, &domains[0]); err != nil {
		return err
	}
	for i := range zones {
		if err := c.Client.Delete(ctx, &zones[i]); err != nil {
			return err
		}
	}
	return nil
}

// ZonesGone returns what is left of the zones.
func (c Cluster) ZonesGone(ctx context.Context) (missing string, err error) {
	return c.left(ctx, "VSphereDeploymentZone", "VSphereFailureDomain")
}
