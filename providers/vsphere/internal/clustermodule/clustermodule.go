// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clustermodule decides which cluster modules a cluster has. A module keeps its virtual machines on different hosts of
// one compute cluster, best effort. There is one module for the control plane and one for each MachineDeployment, in each
// compute cluster with machines of that owner, on each vCenter. Upstream has a single module per owner, which machines in other compute clusters
// cannot join. The functions of this package are pure.
package clustermodule

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Target is the owner of a module's machines, on one vCenter.
type Target struct {
	ControlPlane bool
	Name         string
	// Server is the vCenter in canonical form if it is one of the cluster's additionalServers, else "".
	Server string `json:",omitempty"`
}

// TargetOf returns the owner of a machine in a cluster whose control plane has the given name. It returns false for machines
// without a control plane or MachineDeployment, and for those on another server than the cluster's. On additionalServers only
// machines in zones have one: the zones have the accounts with which modules are created there.
func TargetOf(vm *infrav1.VSphereVM, cluster *infrav1.VSphereCluster, controlPlane string) (Target, bool) {
	server := vm.Spec.Server
	if !infrav1.HasServer(cluster.Spec.Servers(), server) {
		return Target{}, false
	}
	if ServerOf(cluster, server) != "" && vm.Spec.Placement.FailureDomain == "" {
		return Target{}, false
	}
	if _, is := vm.Labels[clusterv1.MachineControlPlaneLabel]; is {
		return Target{true, controlPlane, ServerOf(cluster, server)}, controlPlane != ""
	}
	deployment := vm.Labels[clusterv1.MachineDeploymentNameLabel]
	return Target{false, deployment, ServerOf(cluster, server)}, deployment != ""
}

// ServerOf returns the server of a module's target: "" for the cluster's own.
func ServerOf(cluster *infrav1.VSphereCluster, server string) string {
	if infrav1.SameServer(server, cluster.Spec.Server) {
		return ""
	}
	return infrav1.ServerAddress(server)
}

// Servers returns the servers that may have modules of the cluster, "" for its own, including those that it has ceased to use.
func Servers(cluster *infrav1.VSphereCluster) []string {
	var servers []string
	for _, server := range cluster.Spec.Servers() {
		servers = append(servers, ServerOf(cluster, server))
	}
	for _, module := range cluster.Spec.ClusterModules {
		servers = append(servers, module.Server)
	}
	slices.Sort(servers)
	return slices.Compact(servers)
}

// StatusOf returns the status of a module's server. It returns nil if the cluster has one vCenter.
func StatusOf(cluster *infrav1.VSphereCluster, server string) *infrav1.VSphereClusterServerStatus {
	for i := range cluster.Status.Servers {
		if known := &cluster.Status.Servers[i]; ServerOf(cluster, known.Server) == server {
			return known
		}
	}
	return nil
}

// Refused reports whether machines do not get the modules of a target, because its vCenter rejects them. Other vCenters of the
// cluster do not count.
func Refused(cluster *infrav1.VSphereCluster, target Target) bool {
	if len(cluster.Status.Servers) == 0 {
		return conditions.IsFalse(cluster, infrav1.VSphereClusterClusterModulesReadyCondition)
	}
	known := StatusOf(cluster, target.Server)
	return known != nil && meta.IsStatusConditionFalse(known.Conditions, infrav1.VSphereClusterClusterModulesReadyCondition)
}

// Relative returns modules with their servers as seen from the cluster's present spec.server, which a user may have exchanged with
// one of the additionalServers. Modules of the former spec.server cannot be attributed, because they name no server.
func Relative(cluster *infrav1.VSphereCluster, modules []infrav1.ClusterModule) []infrav1.ClusterModule {
	modules = slices.Clone(modules)
	for i := range modules {
		if modules[i].Server != "" {
			modules[i].Server = ServerOf(cluster, modules[i].Server)
		}
	}
	return modules
}

// On splits modules into those on a server and the others.
func On(server string, modules []infrav1.ClusterModule) (there, others []infrav1.ClusterModule) {
	for _, module := range modules {
		if module.Server == server {
			there = append(there, module)
		} else {
			others = append(others, module)
		}
	}
	return there, others
}

// CanBe reports whether a compute resource can have modules. A standalone host cannot.
func CanBe(compute string) bool { return strings.HasPrefix(compute, "ClusterComputeResource:") }

// Where maps each known module of a vCenter to its compute cluster.
type Where map[string]string

// Wanted is a module that should exist.
type Wanted struct {
	Target

	Compute string // cluster
}

// Of returns the module of a target in a compute cluster. A module that vCenter does not list may exist nevertheless: an
// account with few permissions cannot see where its modules are.
func Of(modules []infrav1.ClusterModule, wanted Wanted, where Where) (uuid string, ok bool) {
	for _, compute := range []string{wanted.Compute, ""} {
		i := slices.IndexFunc(modules, func(m infrav1.ClusterModule) bool {
			return targetOf(m) == wanted.Target && where[m.ModuleUUID] == compute
		})
		if i >= 0 {
			return modules[i].ModuleUUID, true
		}
	}
	return "", false
}

// For returns the modules recorded for a target.
func For(modules []infrav1.ClusterModule, target Target) []string {
	var recorded []string
	for _, module := range modules {
		if targetOf(module) == target {
			recorded = append(recorded, module.ModuleUUID)
		}
	}
	return recorded
}

// Plan holds what to do with modules.
type Plan struct {
	Keep []infrav1.ClusterModule
	// Remove are the modules whose owner no longer exists.
	Remove []infrav1.ClusterModule
	Create []Wanted
}

// Decide compares the recorded modules with the wanted ones. The module of a target is kept for as long as the target exists,
// even while it has no machines, but is created only for a machine.
func Decide(recorded []infrav1.ClusterModule, targets []Target, wanted []Wanted, where Where) Plan {
	var plan Plan
	for _, module := range recorded {
		if slices.Contains(targets, targetOf(module)) {
			plan.Keep = append(plan.Keep, module)
		} else {
			plan.Remove = append(plan.Remove, module)
		}
	}
	for _, want := range wanted {
		if _, there := Of(plan.Keep, want, where); !there && CanBe(want.Compute) && slices.Contains(targets, want.Target) && !slices.Contains(plan.Create, want) {
			plan.Create = append(plan.Create, want)
		}
	}
	return plan
}

// Record returns the API representation of a module.
func Record(target Target, uuid string) infrav1.ClusterModule {
	return infrav1.ClusterModule{ControlPlane: ptr.To(target.ControlPlane), TargetObjectName: target.Name, ModuleUUID: uuid, Server: target.Server}
}

func targetOf(module infrav1.ClusterModule) Target {
	return Target{ptr.Deref(module.ControlPlane, false), module.TargetObjectName, module.Server}
}
