// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/types"

// Labels for finding pools. Both are derived from the spec and set when a pool is written.
const (
	// VLANLabel is the VLAN of the pool's network, or 0 if it has none. On a load balancer of a guest cluster it is the VLAN of the
	// cluster's network.
	VLANLabel = "loadbalancer.harvesterhci.io/vid"

	// GlobalPoolLabel is "true" on the pool that every load balancer may use, and "false" on other pools.
	GlobalPoolLabel = "loadbalancer.harvesterhci.io/global-ip-pool"
)

// GuestClusterLabel on a load balancer is the name of the guest cluster whose cloud provider created it.
const GuestClusterLabel = "cloudprovider.harvesterhci.io/cluster"

// ClusterUIDAnnotation on a load balancer is the UID of the namespace kube-system of the guest cluster whose cloud provider created it.
// Two clusters may have the same name.
const ClusterUIDAnnotation = "cloudprovider.harvesterhci.io/cluster-uid"

const (
	// MachineClusterLabel on a virtual machine is the name of its guest cluster.
	MachineClusterLabel = "guestcluster.harvesterhci.io/name"

	// CreatorLabel on a virtual machine names its creator.
	CreatorLabel = "harvesterhci.io/creator"

	// RancherCreator is the value of CreatorLabel for machines of guest clusters that Rancher creates.
	RancherCreator = "docker-machine-driver-harvester"

	// RemovalAnnotation is "true" on the virtual machines of a guest cluster that is being removed.
	RemovalAnnotation = "harvesterhci.io/removeAllPersistentVolumeClaims"

	// GoesWithAnnotation on a load balancer is the name of a virtual machine of its guest cluster that is being removed. The load
	// balancer is deleted after that machine, if it is the last one.
	GoesWithAnnotation = "loadbalancer.harvesterhci.io/goes-with"

	// MachinesSeenAnnotation on a load balancer is "true" if its guest cluster has had virtual machines in its namespace that Rancher
	// created. When they and their disks are deleted, the cluster is deleted, too.
	MachinesSeenAnnotation = "loadbalancer.harvesterhci.io/machines-seen"
)

// Annotations with which a load balancer states its requirements for a pool.
const (
	// NetworkAnnotation is the network of the guest cluster, as namespace/name.
	NetworkAnnotation = "loadbalancer.harvesterhci.io/network"

	// ProjectAnnotation is the project of Rancher that the load balancer's namespace is in, as cluster/project.
	ProjectAnnotation = "loadbalancer.harvesterhci.io/project"

	// NamespaceAnnotation is the load balancer's namespace.
	NamespaceAnnotation = "loadbalancer.harvesterhci.io/namespace"

	// ClusterAnnotation is the name of the guest cluster.
	ClusterAnnotation = "loadbalancer.harvesterhci.io/cluster"

	// ManagementNetworkAnnotation is the network on which the guest cluster manages its machines. It is used if NetworkAnnotation is
	// empty.
	ManagementNetworkAnnotation = "cloudprovider.harvesterhci.io/managementNetwork"
)

// BackendServersAnnotation holds, as a JSON list, the addresses of the machines that a client of v1alpha1 wants behind the load balancer.
// It is removed when the load balancer selects these machines.
const BackendServersAnnotation = "loadbalancer.harvesterhci.io/backend-servers"

// All matches every project, namespace or guest cluster in the scope of a pool.
const All = "*"

// Finalizers.
const (
	// LoadBalancerFinalizer keeps a load balancer until its Service is deleted and its address is released.
	LoadBalancerFinalizer = "wrangler.cattle.io/harvester-lb-controller"

	// IPPoolFinalizer keeps a pool.
	IPPoolFinalizer = "wrangler.cattle.io/harvester-ipam-controller"

	// VMFinalizer was set on every virtual machine before Faultline. Faultline does not need it.
	VMFinalizer = "wrangler.cattle.io/harvester-lb-vm-controller"

	// VMIFinalizer was set on every virtual machine instance before Faultline.
	VMIFinalizer = "wrangler.cattle.io/harvester-lb-vmi-controller"
)

const (
	// ServiceLabel is "true" on the Service and on the EndpointSlices of a load balancer.
	ServiceLabel = "loadbalancer.harvesterhci.io/servicelb"

	// ClaimsAnnotation lists the pools, separated by commas, in which a load balancer may hold an address in addition to the one in its
	// status: the pool that it is being allocated an address from and the pool that it has to release one to.
	ClaimsAnnotation = "loadbalancer.harvesterhci.io/claims"
)

// A placeholder endpoint is behind a load balancer while no machine responds. It is identified by its UID.
const (
	PlaceholderUID         = types.UID("dummy347-546a-4642-9da6-5608endpoint")
	PlaceholderAddress     = "10.52.0.255"
	PlaceholderIPv6Address = "100::ffff" // in the discard-only prefix
)

// ReleaseAnnotation on a pool, with the value "<address>: <namespace>/<name>", releases the address of a load balancer that no longer
// exists.
const ReleaseAnnotation = "loadbalancer.harvesterhci.io/manuallyReleaseIP"

// ConvertedAnnotation is "true" on the ConfigMap whose ranges were converted to pools, and on these pools.
const ConvertedAnnotation = "loadbalancer.harvesterhci.io/after-conversion"

// BalancersMetric is the number of load balancers by workload, ready and reason.
const BalancersMetric = "harvester_load_balancers"

// AddressesAnnotation on a Service lists the addresses that kube-vip announces for it, separated by commas. kube-vip prefers it to
// spec.loadBalancerIP.
const AddressesAnnotation = "kube-vip.io/loadbalancerIPs"
