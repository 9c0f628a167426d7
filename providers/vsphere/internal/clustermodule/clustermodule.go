// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clustermodule decides which cluster modules a cluster has. A module keeps its virtual machines on different hosts of
// one compute cluster, best effort. There is one module for the control plane and one for each MachineDeployment, in each
// compute cluster with machines of that owner. Upstream has a single module per owner, which machines in other compute clusters
// cannot join. The functions of this package are pure.
package clustermodule

import (
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Target is the owner of a module's machines.
type Target struct {
	ControlPlane bool
	Name         string
}

// TargetOf returns the owner of a machine in a cluster whose control plane has the given name. It returns false for machines
// without a control plane or MachineDeployment, and for those on another server: modules are created only on the cluster's
// server.
func TargetOf(vm *infrav1.VSphereVM, cluster *infrav1.VSphereCluster, controlPlane string) (Target, bool) {
	if !infrav1.SameServer(vm.Spec.Server, cluster.Spec.Server) {
		return Target{}, false
	}
	if _, is := vm.Labels[clusterv1.MachineControlPlaneLabel]; is {
		return Target{true, controlPlane}, controlPlane != ""
	}
	deployment := vm.Labels[clusterv1.MachineDeploymentNameLabel]
	return Target{false, deployment}, deployment != ""
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
	return infrav1.ClusterModule{ControlPlane: ptr.To(target.ControlPlane), TargetObjectName: target.Name, ModuleUUID: uuid}
}

func targetOf(module infrav1.ClusterModule) Target {
	return Target{ptr.Deref(module.ControlPlane, false), module.TargetObjectName}
}
