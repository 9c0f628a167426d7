// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/providers/vsphere/validation"
)

// thumbprints finds vCenters without a configured thumbprint: upstream does not verify their certificate.
func thumbprints(e *examination) {
	e.each(Check, "Thumbprint", func(cluster *unstructured.Unstructured) string {
		if text(cluster, "spec", "thumbprint") != "" {
			return ""
		}
		return fmt.Sprintf("spec.thumbprint is empty, so the manager must trust the certificate of %s: add its CA, set spec.thumbprint, or start the manager with --vcenter-insecure-skip-verify",
			server(cluster))
	}, "VSphereCluster")
}

// otherThumbprints finds templates with another thumbprint than a cluster on the same vCenter: upstream uses the template's.
func otherThumbprints(e *examination) {
	e.each(Check, "Thumbprint", func(template *unstructured.Unstructured) string {
		own := plain(text(template, append(clone(template), "thumbprint")...))
		for i := range e.Objects["VSphereCluster"] {
			cluster := &e.Objects["VSphereCluster"][i]
			vouched := plain(text(cluster, "spec", "thumbprint"))
			at := text(template, append(clone(template), "server")...)
			if cluster.GetNamespace() != template.GetNamespace() || at != "" && host(at) != server(cluster) {
				continue
			}
			if len(own) == len(vouched) && own != vouched { // not SHA-1 and SHA-256
				return fmt.Sprintf("its thumbprint differs from that of VSphereCluster %s, which will be used for machines on %s: check that the cluster's thumbprint is that of the vCenter's certificate",
					cluster.GetName(), server(cluster))
			}
		}
		return ""
	}, "VSphereMachineTemplate")
}

// plain returns a thumbprint in a canonical form.
func plain(thumbprint string) string { return strings.ToUpper(strings.ReplaceAll(thumbprint, ":", "")) }

// server returns the vCenter of an object, with URLs and host names in the same form.
func server(object *unstructured.Unstructured) string {
	return host(text(object, "spec", "server"))
}

func host(server string) string {
	s := strings.TrimPrefix(strings.TrimPrefix(server, "https://"), "http://")
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(s, "/"), "/sdk"), ":443")
}

// clusterModules checks the feature gate with which upstream manages cluster modules.
func clusterModules(e *examination) {
	e.eachManager(func(deployment *unstructured.Unstructured, args []string) {
		if value, _ := flagOf(args, "feature-gates"); slices.Contains(strings.Split(value, ","), validation.NodeAntiAffinity+"=true") {
			e.about(deployment, Check, "ClusterModules", "the feature gate NodeAntiAffinity is on: set EXP_NODE_ANTI_AFFINITY=true for the new components too, or new machines do not join a cluster module")
		}
	})
	e.each(Check, "ClusterModules", func(cluster *unstructured.Unstructured) string {
		found, _, _ := unstructured.NestedSlice(cluster.Object, "spec", "clusterModules")
		if len(found) == 0 {
			return ""
		}
		return fmt.Sprintf("it has %d cluster modules: set EXP_NODE_ANTI_AFFINITY=true for the new components as for upstream's, or no machine joins them before they are deleted with the cluster", len(found))
	}, "VSphereCluster")
}

// zones finds zones that receive no machines here, although upstream places machines in them.
func zones(e *examination) {
	e.each(Check, "Zones", func(zone *unstructured.Unstructured) string {
		if ready, known, _ := unstructured.NestedBool(zone.Object, "status", "ready"); !known || !ready {
			return "it is not ready: machines wait until it is, while upstream clones from the machine's template alone"
		}
		return ""
	}, "VSphereDeploymentZone")
	e.each(Stops, "Zones", func(zone *unstructured.Unstructured) string {
		domain := text(zone, "spec", "failureDomain")
		if e.object("VSphereFailureDomain", domain) != nil {
			return ""
		}
		return fmt.Sprintf("VSphereFailureDomain %s, which it names, does not exist, so the zone would not be ready: create it, or delete the zone", domain)
	}, "VSphereDeploymentZone")
	e.each(Check, "Zones", func(zone *unstructured.Unstructured) string {
		if slices.ContainsFunc(e.Objects["VSphereCluster"], func(cluster unstructured.Unstructured) bool { return selects(&cluster, zone) }) {
			return ""
		}
		return "no VSphereCluster selects it: it is checked with the manager's account or, if that has none for the vCenter, with the account of the oldest cluster there, while upstream uses any cluster's; set spec.failureDomainSelector of the cluster that uses it"
	}, "VSphereDeploymentZone")
}

func (e *examination) object(kind, name string) *unstructured.Unstructured {
	for i := range e.Objects[kind] {
		if e.Objects[kind][i].GetName() == name {
			return &e.Objects[kind][i]
		}
	}
	return nil
}

// uses reports whether a vCenter is one of a cluster's. Upstream's clusters have one.
func uses(cluster *unstructured.Unstructured, vcenter string) bool {
	others, _, _ := unstructured.NestedStringSlice(cluster.Object, "spec", "additionalServers")
	return server(cluster) == vcenter || slices.ContainsFunc(others, func(other string) bool { return host(other) == vcenter })
}

// selects reports whether a zone is among the failure domains of a cluster.
func selects(cluster, zone *unstructured.Unstructured) bool {
	fields, found, _ := unstructured.NestedMap(cluster.Object, "spec", "failureDomainSelector")
	if !found || !uses(cluster, server(zone)) {
		return false
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, selector); err != nil {
		return false
	}
	of, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && of.Matches(labels.Set(zone.GetLabels()))
}

// failureDomains reports which ones get an owner.
func failureDomains(e *examination) {
	e.each(Changes, "FailureDomains", func(domain *unstructured.Unstructured) string {
		named := slices.ContainsFunc(e.Objects["VSphereDeploymentZone"], func(zone unstructured.Unstructured) bool {
			return text(&zone, "spec", "failureDomain") == domain.GetName()
		})
		if !named || ownerOf(domain, "VSphereDeploymentZone") != "" {
			return ""
		}
		return "its zones become its owners: it is deleted with the last of them"
	}, "VSphereFailureDomain")
}

// missingFailureDomains finds machines whose failure domain does not belong to their cluster.
func missingFailureDomains(e *examination) {
	for i := range e.Machines {
		machine := &e.Machines[i]
		domain, cluster := text(machine, "spec", "failureDomain"), text(machine, "spec", "clusterName")
		if domain == "" || text(machine, "spec", "infrastructureRef", "kind") != "VSphereMachine" {
			continue
		}
		zone := e.object("VSphereDeploymentZone", domain)
		if zone == nil {
			e.about(machine, Check, "Machines", fmt.Sprintf("its failure domain %s is not a VSphereDeploymentZone: the machine stays, but its replacement would wait", domain))
			continue
		}
		for j := range e.Objects["VSphereCluster"] {
			infra := &e.Objects["VSphereCluster"][j]
			if infra.GetNamespace() == machine.GetNamespace() && ownerOf(infra, "Cluster") == cluster && !uses(infra, server(zone)) {
				next := "its replacement is created there when the zone is ready: set spec.identityRef of the zone if the cluster's account is not valid for that vCenter"
				if _, is := machine.GetLabels()[clusterv1.MachineControlPlaneLabel]; is {
					next = "its replacement would wait, because a control plane must be on the vCenter of its cluster, or on one in spec.additionalServers, which you can set after the takeover"
				}
				e.about(machine, Check, "Machines", fmt.Sprintf(
					"its failure domain %s is on vCenter %s, its cluster on %s: the machine stays, but %s", domain, server(zone), server(infra), next))
			}
		}
	}
}

func ownerOf(object *unstructured.Unstructured, kind string) string {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == kind {
			return owner.Name
		}
	}
	return ""
}

// clone returns the path of the clone spec in a kind.
func clone(object *unstructured.Unstructured) []string {
	if object.GetKind() == "VSphereMachineTemplate" {
		return []string{"spec", "template", "spec"}
	}
	return []string{"spec"}
}

// smallMachines finds memory sizes that are raised.
func smallMachines(e *examination) {
	e.each(Changes, "Memory", func(object *unstructured.Unstructured) string {
		memory, found, _ := unstructured.NestedInt64(object.Object, append(clone(object), "memoryMiB")...)
		if !found || memory == 0 || memory >= validation.MinMemoryMiB {
			return ""
		}
		return fmt.Sprintf("memoryMiB is %d: new machines get %d, the minimum of kubeadm", memory, validation.MinMemoryMiB)
	}, "VSphereMachineTemplate")
}

// snapshots finds clones that need a snapshot.
func snapshots(e *examination) {
	e.each(Check, "Snapshot", func(object *unstructured.Unstructured) string {
		snapshot := text(object, append(clone(object), "snapshot")...)
		if snapshot == "" {
			return ""
		}
		return fmt.Sprintf("snapshot is %s: if the vSphere template has no such snapshot, machines wait with SnapshotNotFound, while upstream creates a full clone", snapshot)
	}, "VSphereMachineTemplate")
}

// droppedFields finds fields of v1beta1 that upstream's own v1beta2 does not have either.
func droppedFields(e *examination) {
	e.each(Changes, "Fields", func(object *unstructured.Unstructured) string {
		if text(object, append(clone(object), "network", "preferredAPIServerCidr")...) == "" {
			return ""
		}
		return "network.preferredAPIServerCidr is removed: no controller uses it"
	}, "VSphereMachine", "VSphereMachineTemplate", "VSphereVM")
}

// tasks finds virtual machines with a running vCenter task.
func tasks(e *examination) {
	e.each(Check, "Tasks", func(vm *unstructured.Unstructured) string {
		if task := text(vm, "status", "taskRef"); task != "" {
			return fmt.Sprintf("vCenter runs %s for it: the new manager continues from there, but wait for the task if you can", task)
		}
		return ""
	}, "VSphereVM")
}

// claims reports which addresses are taken over.
func claims(e *examination) {
	const finalizer = "vspherevm.infrastructure.cluster.x-k8s.io/ip-claim-protection"
	for i := range e.Claims {
		if slices.Contains(e.Claims[i].GetFinalizers(), finalizer) {
			e.about(&e.Claims[i], Changes, "Claims", "it is taken over with its address, and released with its VSphereVM")
		}
	}
}

// formerOwners finds owner references of old releases.
func formerOwners(e *examination) {
	e.each(Changes, "Owners", func(machine *unstructured.Unstructured) string {
		if cluster := ownerOf(machine, "VSphereCluster"); cluster != "" {
			return fmt.Sprintf("its owner reference to VSphereCluster %s, set by an old release, is removed", cluster)
		}
		return ""
	}, "VSphereMachine")
}
