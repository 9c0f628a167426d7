// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/types"

// Labels for finding pools. Both are derived from the spec and set when a pool is written.
const (
	// VLANLabel on an IPPool is the VLAN of its network, or 0 if it has none. On a LoadBalancer of a guest cluster it is the VLAN of the
	// cluster's network.
	VLANLabel = "loadbalancer.harvesterhci.io/vid"

	// GlobalPoolLabel on an IPPool is "true" if every LoadBalancer may use it, else "false".
	GlobalPoolLabel = "loadbalancer.harvesterhci.io/global-ip-pool"
)

// GuestClusterLabel on a LoadBalancer is the name of the guest cluster whose cloud provider created it.
const GuestClusterLabel = "cloudprovider.harvesterhci.io/cluster"

// ClusterUIDAnnotation on a LoadBalancer is the UID of the namespace kube-system of the guest cluster whose cloud provider created it.
// Two clusters may have the same name.
const ClusterUIDAnnotation = "cloudprovider.harvesterhci.io/cluster-uid"

const (
	// MachineClusterLabel on a VirtualMachine is the name of its guest cluster.
	MachineClusterLabel = "guestcluster.harvesterhci.io/name"

	// CreatorLabel on a VirtualMachine names its creator.
	CreatorLabel = "harvesterhci.io/creator"

	// RancherCreator is the value of CreatorLabel for machines of guest clusters that Rancher creates.
	RancherCreator = "docker-machine-driver-harvester"

	// RemovalAnnotation on a VirtualMachine is "true" while its guest cluster is being removed.
	RemovalAnnotation = "harvesterhci.io/removeAllPersistentVolumeClaims"

	// GoesWithAnnotation on a LoadBalancer is the name of a virtual machine of its guest cluster that is being removed. The load
	// balancer is deleted after that machine, if it is the last one.
	GoesWithAnnotation = "loadbalancer.harvesterhci.io/goes-with"

	// MachinesSeenAnnotation on a LoadBalancer is "true" if its guest cluster has had virtual machines in its namespace that Rancher
	// created. When they and their disks are deleted, the cluster is deleted, too.
	MachinesSeenAnnotation = "loadbalancer.harvesterhci.io/machines-seen"
)

// Annotations with which a load balancer states its requirements for a pool.
const (
	// NetworkAnnotation on a LoadBalancer is the network of its guest cluster, as namespace/name.
	NetworkAnnotation = "loadbalancer.harvesterhci.io/network"

	// ProjectAnnotation on a LoadBalancer is the project of Rancher that its namespace is in, as cluster/project.
	ProjectAnnotation = "loadbalancer.harvesterhci.io/project"

	// NamespaceAnnotation on a LoadBalancer is its namespace.
	NamespaceAnnotation = "loadbalancer.harvesterhci.io/namespace"

	// ClusterAnnotation on a LoadBalancer is the name of its guest cluster.
	ClusterAnnotation = "loadbalancer.harvesterhci.io/cluster"

	// ManagementNetworkAnnotation on a LoadBalancer is the network on which its guest cluster manages its machines. It is used if
	// NetworkAnnotation is empty.
	ManagementNetworkAnnotation = "cloudprovider.harvesterhci.io/managementNetwork"
)

// BackendServersAnnotation on a LoadBalancer holds, as a JSON list, the addresses of the machines that a client of v1alpha1 wants behind
// it. It is removed when the LoadBalancer selects these machines.
const BackendServersAnnotation = "loadbalancer.harvesterhci.io/backend-servers"

// All matches every project, namespace or guest cluster in the scope of a pool.
const All = "*"

// Finalizers.
const (
	// LoadBalancerFinalizer keeps a LoadBalancer until its Service is deleted and its address is released.
	LoadBalancerFinalizer = "wrangler.cattle.io/harvester-lb-controller"

	// IPPoolFinalizer keeps an IPPool while it has holders.
	IPPoolFinalizer = "wrangler.cattle.io/harvester-ipam-controller"

	// VMFinalizer on a VirtualMachine was set before Faultline, which does not need it.
	VMFinalizer = "wrangler.cattle.io/harvester-lb-vm-controller"

	// VMIFinalizer on a VirtualMachineInstance was set before Faultline, which does not need it.
	VMIFinalizer = "wrangler.cattle.io/harvester-lb-vmi-controller"
)

const (
	// ServiceLabel on the Service and the EndpointSlices of a LoadBalancer is "true".
	ServiceLabel = "loadbalancer.harvesterhci.io/servicelb"

	// ClaimsAnnotation on a LoadBalancer lists the pools, separated by commas, in which it may hold an address in addition to the one in
	// its status: the pool that it is being allocated an address from and the pool that it has to release one to.
	ClaimsAnnotation = "loadbalancer.harvesterhci.io/claims"
)

// A placeholder endpoint is behind a load balancer while no machine responds. It is identified by its UID.
const (
	PlaceholderUID         = types.UID("dummy347-546a-4642-9da6-5608endpoint")
	PlaceholderAddress     = "10.52.0.255"
	PlaceholderIPv6Address = "100::ffff" // in the discard-only prefix
)

// ReleaseAnnotation on an IPPool, with the value "<address>: <namespace>/<name>", releases the address of a LoadBalancer that no longer
// exists.
const ReleaseAnnotation = "loadbalancer.harvesterhci.io/manuallyReleaseIP"

// ConvertedAnnotation on a ConfigMap whose ranges were converted to IPPools, and on these IPPools, is "true".
const ConvertedAnnotation = "loadbalancer.harvesterhci.io/after-conversion"

// BalancersMetric is the number of load balancers by workload, ready and reason.
const BalancersMetric = "harvester_load_balancers"

// AddressesAnnotation on a Service lists the addresses that kube-vip announces for it, separated by commas. kube-vip prefers it to
// spec.loadBalancerIP.
const AddressesAnnotation = "kube-vip.io/loadbalancerIPs"
