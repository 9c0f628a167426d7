//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/cluster"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// modules returns the references of the members of each cluster module of the vCenter, by the module's UUID.
func (v *VCenter) modules(ctx context.Context) (map[string][]string, error) {
	manager := cluster.NewManager(v.rest)
	list, err := manager.ListModules(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing cluster modules: %w", err)
	}
	modules := map[string][]string{}
	for _, module := range list {
		members, err := manager.ListModuleMembers(ctx, module.Module)
		if err != nil {
			return nil, fmt.Errorf("listing the members of a cluster module: %w", err)
		}
		modules[module.Module] = nil
		for _, member := range members {
			modules[module.Module] = append(modules[module.Module], member.Value)
		}
	}
	return modules, nil
}

// recorded returns the owners of the cluster modules in the VSphereCluster, by the UUID of each.
func (c Cluster) recorded(ctx context.Context) (map[string]string, error) {
	infra := &unstructured.Unstructured{}
	infra.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
	infra.SetKind("VSphereCluster")
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, infra); err != nil {
		return nil, err
	}
	list, _, err := unstructured.NestedSlice(infra.Object, "spec", "clusterModules")
	if err != nil {
		return nil, err
	}
	recorded := map[string]string{}
	for _, item := range list {
		module, _ := item.(map[string]any)
		uuid, _, _ := unstructured.NestedString(module, "moduleUUID")
		recorded[uuid], _, _ = unstructured.NestedString(module, "targetObjectName")
	}
	return recorded, nil
}

// unrecorded returns the cluster modules that the VSphereCluster does not name. Upstream leaves some behind: it loses a module that it
// has created if its cache is stale, or if it cannot record it.
func (c Cluster) unrecorded(ctx context.Context) ([]string, error) {
	modules, err := c.VCenter.modules(ctx)
	if err != nil {
		return nil, err
	}
	recorded, err := c.recorded(ctx)
	maps.DeleteFunc(modules, func(uuid string, _ []string) bool { return recorded[uuid] != "" })
	return slices.Sorted(maps.Keys(modules)), err
}

// apart returns what is missing until all machines of these owners are in a cluster module of their own, and report it.
func (c Cluster) apart(ctx context.Context, owners ...string) (missing string, err error) {
	modules, err := c.VCenter.modules(ctx)
	if err != nil {
		return "", err
	}
	recorded, err := c.recorded(ctx)
	if err != nil {
		return "", err
	}
	for uuid := range recorded {
		if _, there := modules[uuid]; !there {
			return "cluster module " + uuid + ", which is recorded", nil
		}
	}
	vms, err := c.list(ctx, "v1beta1", "VSphereVM")
	if err != nil {
		return "", err
	}
	machines, err := c.VCenter.machines(ctx)
	if err != nil {
		return "", err
	}
	for i := range vms {
		name := vms[i].GetName()
		if !slices.ContainsFunc(owners, func(owner string) bool { return strings.HasPrefix(name, owner+"-") }) {
			continue
		}
		says, _, _ := unstructured.NestedString(vms[i].Object, "status", "moduleUUID")
		if owner := recorded[says]; owner == "" || !strings.HasPrefix(name, owner+"-") || !slices.Contains(modules[says], machines[name].Reference) {
			return fmt.Sprintf("%s in a cluster module of its owner: it records %q, which is of %q; existing modules are %v", name, says, owner, modules), nil
		}
	}
	return "", nil
}
