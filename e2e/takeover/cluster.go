// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/workload"
)

const (
	// Namespace is where the cluster is.
	Namespace = "default"
	name      = "taken"
	// Machines is how many the cluster has when it is created.
	Machines = 5
	// kinds is how many kinds there are of the provider's.
	kinds = 8
)

//go:embed cluster.yaml
var clusterYAML []byte

//go:embed zone.yaml
var zoneYAML []byte

// Cluster is a workload cluster over three zones, as it is written for upstream's provider before v1beta2, wherever it is managed.
type Cluster struct {
	VCenter *VCenter
	// Client is the administrator's in the management cluster.
	Client client.Client
	// Workload keeps the cluster in memory.
	Workload *workload.Simulator
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
		"SERVER": c.VCenter.host(), "THUMBPRINT": c.VCenter.thumbprint(), "TEMPLATE": template,
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

func (c Cluster) create(ctx context.Context, manifest []byte, variables map[string]string) error {
	filled, err := managementcluster.Substitute(manifest, variables)
	if err != nil {
		return err
	}
	objects, err := managementcluster.Decode(filled)
	if err != nil {
		return err
	}
	for _, object := range objects {
		// As kubectl apply --server-side: managedFields are of v1beta1.
		if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl")); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// ScaleUp adds a worker that is in no zone.
func (c Cluster) ScaleUp(ctx context.Context) error { return c.scaleWorkersUp(ctx, "anywhere") }

func (c Cluster) scaleWorkersUp(ctx context.Context, workers string) error {
	deployment := &clusterv1.MachineDeployment{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: workers}, deployment); err != nil {
		return err
	}
	was := deployment.DeepCopy()
	deployment.Spec.Replicas = ptr.To(*deployment.Spec.Replicas + 1)
	return c.Client.Patch(ctx, deployment, client.MergeFrom(was))
}

// Migrated says which kind is not stored in v1beta2 alone.
func (c Cluster) Migrated(ctx context.Context) (missing string, err error) {
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.Client.List(ctx, crds, client.MatchingLabels{clusterv1.ProviderNameLabel: "infrastructure-vsphere"}); err != nil {
		return "", err
	}
	if len(crds.Items) != kinds {
		return fmt.Sprintf("%d CRDs, there are %d", kinds, len(crds.Items)), nil
	}
	for i := range crds.Items {
		if stored := crds.Items[i].Status.StoredVersions; len(stored) != 1 || stored[0] != "v1beta2" {
			return fmt.Sprintf("%s is stored in v1beta2 alone, not in %v", crds.Items[i].Name, stored), nil
		}
	}
	return "", nil
}

// Delete asks for the deletion of the cluster; its zones stay.
func (c Cluster) Delete(ctx context.Context) error {
	return c.Client.Delete(ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}})
}

// Gone says what there still is of the cluster: objects, or virtual machines.
func (c Cluster) Gone(ctx context.Context) (missing string, err error) {
	if left, err := c.left(ctx, "VSphereMachine", "VSphereVM", "VSphereCluster"); left != "" || err != nil {
		return left, err
	}
	err = c.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, &clusterv1.Cluster{})
	if !apierrors.IsNotFound(err) {
		return "the Cluster to go", err
	}
	machines, err := c.VCenter.machines(ctx)
	if len(machines) > 0 || err != nil {
		return fmt.Sprintf("%d virtual machines to go", len(machines)), err
	}
	return "", nil
}

// DeleteZones asks for the deletion of the zones as kubectl delete -f does it with upstream's manifests, one with its failure domain
// first and the others alone.
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
		return fmt.Errorf("there are %d failure domains and %d zones, not %d of each", len(domains), len(zones), datacenters)
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

// ZonesGone says what there still is of the zones.
func (c Cluster) ZonesGone(ctx context.Context) (missing string, err error) {
	return c.left(ctx, "VSphereDeploymentZone", "VSphereFailureDomain")
}

// left says of which of the kinds there are objects.
func (c Cluster) left(ctx context.Context, kinds ...string) (string, error) {
	for _, kind := range kinds {
		left, err := c.list(ctx, "v1beta2", kind)
		if len(left) > 0 || err != nil {
			return fmt.Sprintf("%d %s to go", len(left), kind), err
		}
	}
	return "", nil
}
