// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

// State is all that a change of managers must leave as it was.
type State struct {
	// VMs are those of vCenter, by name.
	VMs map[string]vm
	// Specs are those of VSphereVMs in v1beta1, by name.
	Specs map[string]any
	// Machines are what Cluster API knows of its Machines, by name.
	Machines map[string]machine
	// Claims are IPAddressClaims with what they were given, by name.
	Claims map[string]claim
}

type machine struct {
	UID, ProviderID, Node, Domain string
}

// Differences says in words what is not the same.
func (s State) Differences(now State) []string {
	return slices.Concat(
		compare("virtual machine", s.VMs, now.VMs), compare("VSphereVM", s.Specs, now.Specs), compare("Machine", s.Machines, now.Machines),
		compare("IPAddressClaim", s.Claims, now.Claims),
	)
}

func compare[T any](kind string, before, after map[string]T) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, ok := after[name]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s %s is gone", kind, name))
		case !reflect.DeepEqual(before[name], now):
			out = append(out, fmt.Sprintf("%s %s was %+v, is %+v", kind, name, before[name], now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			out = append(out, fmt.Sprintf("%s %s is new", kind, name))
		}
	}
	return out
}

// State is that of today.
func (c Cluster) State(ctx context.Context) (s State, err error) {
	if s.VMs, err = c.VCenter.machines(ctx); err != nil {
		return s, err
	}
	s.Specs, s.Machines = map[string]any{}, map[string]machine{}
	vms, err := c.list(ctx, "v1beta1", "VSphereVM")
	if err != nil {
		return s, err
	}
	for i := range vms {
		s.Specs[vms[i].GetName()] = vms[i].Object["spec"]
	}
	machines := &clusterv1.MachineList{}
	if err := c.Client.List(ctx, machines); err != nil {
		return s, err
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		s.Machines[m.Name] = machine{UID: string(m.UID), ProviderID: m.Spec.ProviderID, Node: m.Status.NodeRef.Name, Domain: m.Spec.FailureDomain}
	}
	s.Claims, err = c.claims(ctx)
	return s, err
}

// list lists objects of the provider in a version.
func (c Cluster) list(ctx context.Context, version, kind string) ([]unstructured.Unstructured, error) {
	return c.listOf(ctx, "infrastructure.cluster.x-k8s.io", version, kind)
}

func (c Cluster) listOf(ctx context.Context, group, version, kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(group + "/" + version)
	list.SetKind(kind + "List")
	if err := c.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing %s in %s: %w", kind, version, err)
	}
	return list.Items, nil
}

// conditionsOf are the types of an object's conditions, with where they are.
func conditionsOf(object *unstructured.Unstructured) []string {
	var types []string
	for _, path := range [][]string{{"status", "conditions"}, {"status", "v1beta2", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"}} {
		list, _, _ := unstructured.NestedSlice(object.Object, path...)
		for _, condition := range list {
			if fields, ok := condition.(map[string]any); ok {
				types = append(types, fmt.Sprintf("%s %s", strings.Join(path, "."), fields["type"]))
			}
		}
	}
	slices.Sort(types)
	return types
}

// holder is who has the lease.
func (g *environment) holder(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: vsphere.Provider{}.Describe().Namespace, Name: leaseName}
	if err := g.Client.Get(ctx, key, lease); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), nil
}

// settled is Settled, unless something has failed beside everything else.
func (g *environment) settled(ctx context.Context, count int) (missing string, err error) {
	if err := g.err(); err != nil {
		return "", err
	}
	return g.Settled(ctx, count)
}

// Settled says what is missing for the cluster to have so many machines, all of them ready and up to date.
func (c Cluster) Settled(ctx context.Context, count int) (missing string, err error) {
	cluster := &clusterv1.Cluster{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, cluster); err != nil {
		return "", err
	}
	machines := &clusterv1.MachineList{}
	if err := c.Client.List(ctx, machines, client.InNamespace(Namespace)); err != nil {
		return "", err
	}
	if len(machines.Items) != count {
		return fmt.Sprintf("%d machines; there are %d", count, len(machines.Items)), nil
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

// unsettled names a condition of a machine that is not true. Not all machines have one that says whether they are up to date.
func unsettled(m *clusterv1.Machine) string {
	if ready := conditions.Get(m, clusterv1.MachineReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
		return fmt.Sprintf("Machine %s is ready: %+v", m.Name, ready)
	}
	if current := conditions.Get(m, clusterv1.MachineUpToDateCondition); current != nil && current.Status != metav1.ConditionTrue {
		return fmt.Sprintf("Machine %s is up to date: %+v", m.Name, current)
	}
	return ""
}
