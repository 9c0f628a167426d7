// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package takeover runs a cluster with upstream's released manager, on govmomi's unmodified vcsim or on simulated hosts, and then lets
// our manager take over. The managers are the real programs, each with the CRDs, webhooks and RBAC rules of its own release, which are
// read from its module or from a checkout of its source.
package takeover

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/workload"
)

const (
	// Namespace is the namespace of the cluster.
	Namespace  = "default"
	name       = "taken"
	infraGroup = "infrastructure.cluster.x-k8s.io"
)

// Managed is a workload cluster in a management cluster, regardless of its infrastructure.
type Managed struct {
	// Client acts as administrator of the management cluster.
	Client client.Client
	// Workload keeps the workload cluster in memory.
	Workload *workload.Simulator
}

func (m Managed) create(ctx context.Context, manifest []byte, variables map[string]string) error {
	objects, err := managementcluster.Fill(manifest, variables)
	if err != nil {
		return err
	}
	for _, object := range objects {
		// As kubectl apply --server-side: managedFields have version v1beta1.
		if err := m.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl")); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// list lists objects of a kind of the provider in a version.
func (m Managed) list(ctx context.Context, version, kind string) ([]unstructured.Unstructured, error) {
	return m.listOf(ctx, infraGroup, version, kind)
}

func (m Managed) listOf(ctx context.Context, group, version, kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(group + "/" + version)
	list.SetKind(kind + "List")
	if err := m.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing %s in %s: %w", kind, version, err)
	}
	return list.Items, nil
}

// left returns a kind that still has objects.
func (m Managed) left(ctx context.Context, kinds ...string) (string, error) {
	for _, kind := range kinds {
		left, err := m.list(ctx, "v1beta2", kind)
		if len(left) > 0 || err != nil {
			return fmt.Sprintf("deletion of %d %s", len(left), kind), err
		}
	}
	return "", nil
}

// scaleWorkersUp adds a worker to a MachineDeployment.
func (m Managed) scaleWorkersUp(ctx context.Context, workers string) error {
	deployment := &clusterv1.MachineDeployment{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: workers}, deployment); err != nil {
		return err
	}
	was := deployment.DeepCopy()
	deployment.Spec.Replicas = ptr.To(*deployment.Spec.Replicas + 1)
	return m.Client.Patch(ctx, deployment, client.MergeFrom(was))
}

// machine holds the relevant fields of a Machine.
type machine struct {
	UID, ProviderID, Node, Domain string
}

// machines returns all Machines by name.
func (m Managed) machines(ctx context.Context) (map[string]machine, error) {
	list := &clusterv1.MachineList{}
	if err := m.Client.List(ctx, list); err != nil {
		return nil, err
	}
	machines := map[string]machine{}
	for i := range list.Items {
		one := &list.Items[i]
		machines[one.Name] = machine{UID: string(one.UID), ProviderID: one.Spec.ProviderID, Node: one.Status.NodeRef.Name, Domain: one.Spec.FailureDomain}
	}
	return machines, nil
}

// storedVersions returns the stored versions of a provider's kinds by the name of the CRD.
func (m Managed) storedVersions(ctx context.Context, provider string) (map[string][]string, error) {
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := m.Client.List(ctx, crds, client.MatchingLabels{clusterv1.ProviderNameLabel: "infrastructure-" + provider}); err != nil {
		return nil, err
	}
	versions := map[string][]string{}
	for i := range crds.Items {
		versions[crds.Items[i].Name] = crds.Items[i].Status.StoredVersions
	}
	return versions, nil
}

// migrated returns a kind of a provider that is not stored only in v1beta2. kinds is the expected number of kinds.
func (m Managed) migrated(ctx context.Context, provider string, kinds int) (missing string, err error) {
	versions, err := m.storedVersions(ctx, provider)
	if err != nil {
		return "", err
	}
	if len(versions) != kinds {
		return fmt.Sprintf("%d CRDs, found %d", kinds, len(versions)), nil
	}
	for crd, stored := range versions {
		if !slices.Equal(stored, []string{"v1beta2"}) {
			return fmt.Sprintf("storedVersions of %s are v1beta2 only, not %v", crd, stored), nil
		}
	}
	return "", nil
}

// Delete deletes the cluster without waiting.
func (m Managed) Delete(ctx context.Context) error {
	return m.Client.Delete(ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}})
}

// gone returns what is left of the cluster: objects of these kinds, or the Cluster.
func (m Managed) gone(ctx context.Context, kinds ...string) (missing string, err error) {
	if left, err := m.left(ctx, kinds...); left != "" || err != nil {
		return left, err
	}
	err = m.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, &clusterv1.Cluster{})
	if !apierrors.IsNotFound(err) {
		return "deletion of the Cluster", err
	}
	return "", nil
}

// Settled returns what is missing until the cluster has count machines, all of them ready and up to date.
func (m Managed) Settled(ctx context.Context, count int) (missing string, err error) {
	cluster := &clusterv1.Cluster{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, cluster); err != nil {
		return "", err
	}
	machines := &clusterv1.MachineList{}
	if err := m.Client.List(ctx, machines, client.InNamespace(Namespace)); err != nil {
		return "", err
	}
	if len(machines.Items) != count {
		return fmt.Sprintf("%d machines, found %d", count, len(machines.Items)), nil
	}
	for i := range machines.Items {
		if missing := unsettled(&machines.Items[i]); missing != "" {
			return missing, nil
		}
	}
	if available := clusterv1.ClusterAvailableCondition; !conditions.IsTrue(cluster, available) {
		return fmt.Sprintf("the cluster is available: %+v", conditions.Get(cluster, available)), nil
	}
	return "", nil
}

// unsettled returns a condition of a machine that is not true. Not every machine has a condition for being up to date.
func unsettled(m *clusterv1.Machine) string {
	if ready := conditions.Get(m, clusterv1.MachineReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
		return fmt.Sprintf("Machine %s is ready: %+v", m.Name, ready)
	}
	if current := conditions.Get(m, clusterv1.MachineUpToDateCondition); current != nil && current.Status != metav1.ConditionTrue {
		return fmt.Sprintf("Machine %s is up to date: %+v", m.Name, current)
	}
	return ""
}
