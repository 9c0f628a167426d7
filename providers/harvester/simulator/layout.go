// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

const (
	witnessRole = "node-role.harvesterhci.io/witness"
	// clusterNetworkPrefix is the prefix of the label of hosts that are connected to a cluster network.
	clusterNetworkPrefix = "network.harvesterhci.io/"
	managementNetwork    = "mgmt"
	// devicePrefix is the prefix of the devices that virt-handler provides to Pods that run virtual machines.
	devicePrefix = "devices.kubevirt.io/"
)

// Layout defines the hosts of a Harvester cluster.
type Layout struct {
	Hosts []Host
}

// Host is a host of a Harvester cluster.
type Host struct {
	Name string
	// Hostname is the value of its label kubernetes.io/hostname. Defaults to its name.
	Hostname string
	// Labels are additional labels, such as its zone.
	Labels map[string]string
	// CPU and Memory are its resources for virtual machines. Default to 32 and 128 GiB.
	CPU, Memory resource.Quantity
	// Witness makes it a host that is only an etcd member and runs no virtual machines.
	Witness bool
}

// Zones returns a layout of equal zones, zone-1, zone-2 and so on, with the hosts zone-1-host-1, zone-1-host-2 and so on.
func Zones(zones, hostsPerZone int) Layout {
	names := make([]string, zones)
	for i := range names {
		names[i] = fmt.Sprintf("zone-%d", i+1)
	}
	return NamedZones(names, hostsPerZone)
}

// NamedZones is Zones with names given by the caller.
func NamedZones(names []string, hostsPerZone int) Layout {
	layout := Layout{}
	for _, name := range names {
		for host := range hostsPerZone {
			layout.Hosts = append(layout.Hosts, Host{
				Name: fmt.Sprintf("%s-host-%d", name, host+1), Labels: map[string]string{corev1.LabelTopologyZone: name},
			})
		}
	}
	return layout
}

// node returns the Node of the host.
func (h Host) node() *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: h.Name, Labels: map[string]string{
		corev1.LabelHostname: h.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		clusterNetworkPrefix + managementNetwork: "true",
	}}}
	if h.Hostname != "" {
		node.Labels[corev1.LabelHostname] = h.Hostname
	}
	if h.Witness {
		node.Labels[witnessRole] = "true"
		node.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/etcd", Value: "true", Effect: corev1.TaintEffectNoExecute}}
	} else {
		node.Labels[kubevirtv1.NodeSchedulable] = "true"
		node.Labels[kubevirtv1.SupportedMachineTypeLabel+"q35"] = "true"
	}
	maps.Copy(node.Labels, h.Labels)
	return node
}

// status returns the status of the host, without its readiness.
func (h Host) status() corev1.NodeStatus {
	has := corev1.ResourceList{
		corev1.ResourceCPU: h.CPU, corev1.ResourceMemory: h.Memory, corev1.ResourcePods: resource.MustParse("500"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
	if h.CPU.IsZero() {
		has[corev1.ResourceCPU] = resource.MustParse("32")
	}
	if h.Memory.IsZero() {
		has[corev1.ResourceMemory] = resource.MustParse("128Gi")
	}
	for _, device := range []corev1.ResourceName{"kvm", "tun", "vhost-net"} {
		has[devicePrefix+device] = resource.MustParse("1k")
	}
	return corev1.NodeStatus{
		Capacity: has, Allocatable: has,
		NodeInfo: corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux", OSImage: "Harvester (simulated)"},
	}
}
