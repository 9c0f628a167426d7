// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clustermodule decides which cluster modules a cluster has. A module keeps its virtual machines on different hosts of one
// compute cluster, as well as that can be done. There is one for the control plane and one for each MachineDeployment, in each
// compute cluster that has machines of them: upstream has one in all, which the machines of other compute clusters cannot join.
// Its functions are pure.
package clustermodule

import (
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Target is what owns the machines of a module.
type Target struct {
	ControlPlane bool
	Name         string
}

// TargetOf returns the owner of a machine in a cluster with a control plane of that name. Machines of no control plane and no
// MachineDeployment have none, nor have those on another server: modules are made on the cluster's.
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

// CanBe reports whether modules can be in a compute resource: not on a host of its own.
func CanBe(compute string) bool { return strings.HasPrefix(compute, "ClusterComputeResource:") }

// Where is the compute cluster of each module of a vCenter, as far as that is known.
type Where map[string]string

// Wanted is a module that is to be there.
type Wanted struct {
	Target

	Compute string // cluster
}

// Of returns the module of a target in a compute cluster. One that vCenter does not list may be there: nothing else is known of the
// modules of an account that sees little.
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

// For returns the modules that are recorded for a target.
func For(modules []infrav1.ClusterModule, target Target) []string {
	var recorded []string
	for _, module := range modules {
		if targetOf(module) == target {
			recorded = append(recorded, module.ModuleUUID)
		}
	}
	return recorded
}

// Plan says what to do with modules.
type Plan struct {
	Keep []infrav1.ClusterModule
	// Remove are modules that nobody has machines for any more.
	Remove []infrav1.ClusterModule
	Create []Wanted
}

// Decide compares what is recorded with what is wanted. The module of a target stays as long as that is there, also while it has no
// machines; there is none without a machine.
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

// Record is what is written down of a module.
func Record(target Target, uuid string) infrav1.ClusterModule {
	return infrav1.ClusterModule{ControlPlane: ptr.To(target.ControlPlane), TargetObjectName: target.Name, ModuleUUID: uuid}
}

func targetOf(module infrav1.ClusterModule) Target {
	return Target{ptr.Deref(module.ControlPlane, false), module.TargetObjectName}
}
