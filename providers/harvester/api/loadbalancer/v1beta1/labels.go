// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/types"

// What pools are found by. Both labels follow from the spec and are set when a pool is written.
const (
	// VLANLabel is the VLAN of the pool's network, 0 for one without. On a load balancer of a guest cluster it is that of its network.
	VLANLabel = "loadbalancer.harvesterhci.io/vid"

	// GlobalPoolLabel is "true" on the pool that all may have addresses of, and "false" on others.
	GlobalPoolLabel = "loadbalancer.harvesterhci.io/global-ip-pool"
)

// GuestClusterLabel on a load balancer is the name of the guest cluster whose cloud provider made it.
const GuestClusterLabel = "cloudprovider.harvesterhci.io/cluster"

// ClusterUIDAnnotation on a load balancer is the UID of the namespace kube-system of the guest cluster whose cloud provider made it: two clusters
// may have one name.
const ClusterUIDAnnotation = "cloudprovider.harvesterhci.io/cluster-uid"

const (
	// MachineClusterLabel on a virtual machine is the name of its guest cluster.
	MachineClusterLabel = "guestcluster.harvesterhci.io/name"

	// CreatorLabel on a virtual machine is who made it.
	CreatorLabel = "harvesterhci.io/creator"

	// RancherCreator is the creator of machines of guest clusters that Rancher makes.
	RancherCreator = "docker-machine-driver-harvester"

	// RemovalAnnotation is "true" on the virtual machines of a guest cluster that is being removed.
	RemovalAnnotation = "harvesterhci.io/removeAllPersistentVolumeClaims"

	// GoesWithAnnotation on a load balancer is the name of a virtual machine of its guest cluster, which is being removed: the load balancer
	// goes when the machine does, if it is the last one.
	GoesWithAnnotation = "loadbalancer.harvesterhci.io/goes-with"

	// MachinesSeenAnnotation on a load balancer is "true" when its guest cluster has had virtual machines in its namespace that Rancher made:
	// when they are gone, and their disks, so is the cluster.
	MachinesSeenAnnotation = "loadbalancer.harvesterhci.io/machines-seen"
)

// Annotations by which a load balancer says what its pool must be for.
const (
	// NetworkAnnotation is the network of the guest cluster, as namespace/name.
	NetworkAnnotation = "loadbalancer.harvesterhci.io/network"

	// ProjectAnnotation is the project of Rancher that the load balancer's namespace is in, as cluster/project.
	ProjectAnnotation = "loadbalancer.harvesterhci.io/project"

	// NamespaceAnnotation is the load balancer's namespace.
	NamespaceAnnotation = "loadbalancer.harvesterhci.io/namespace"

	// ClusterAnnotation is the name of the guest cluster.
	ClusterAnnotation = "loadbalancer.harvesterhci.io/cluster"

	// ManagementNetworkAnnotation is the network that the guest cluster manages its machines on. It counts where NetworkAnnotation says
	// nothing.
	ManagementNetworkAnnotation = "cloudprovider.harvesterhci.io/managementNetwork"
)

// BackendServersAnnotation has addresses of machines, as a JSON list, that a client of v1alpha1 wants the load balancer to lead to. It goes when
// the load balancer selects them.
const BackendServersAnnotation = "loadbalancer.harvesterhci.io/backend-servers"

// All stands for every project, namespace or guest cluster in the scope of a pool.
const All = "*"

// What keeps objects until they can go.
const (
	// LoadBalancerFinalizer keeps a load balancer until its Service is gone and its address is given back.
	LoadBalancerFinalizer = "wrangler.cattle.io/harvester-lb-controller"

	// IPPoolFinalizer keeps a pool.
	IPPoolFinalizer = "wrangler.cattle.io/harvester-ipam-controller"

	// VMFinalizer was on every virtual machine before Faultline. Nothing of Faultline needs it.
	VMFinalizer = "wrangler.cattle.io/harvester-lb-vm-controller"

	// VMIFinalizer was on every instance of one.
	VMIFinalizer = "wrangler.cattle.io/harvester-lb-vmi-controller"
)

const (
	// ServiceLabel is "true" on the Service and on the EndpointSlices of a load balancer.
	ServiceLabel = "loadbalancer.harvesterhci.io/servicelb"

	// ClaimsAnnotation names pools, separated by commas, in which a load balancer may hold an address beside the one in its status: the
	// pool that it is just given one of, and the one that it has to give one back to.
	ClaimsAnnotation = "loadbalancer.harvesterhci.io/claims"
)

// An endpoint that is no machine's is behind a load balancer as long as no machine is that answers. It is known by its UID.
const (
	PlaceholderUID         = types.UID("dummy347-546a-4642-9da6-5608endpoint")
	PlaceholderAddress     = "10.52.0.255"
	PlaceholderIPv6Address = "100::ffff" // of the prefix for what is to be discarded
)

// ReleaseAnnotation on a pool, with the value "<address>: <namespace>/<name>", takes an address back from a load balancer that does not exist
// any more.
const ReleaseAnnotation = "loadbalancer.harvesterhci.io/manuallyReleaseIP"

// ConvertedAnnotation is "true" on the ConfigMap whose ranges have become pools, and on those pools.
const ConvertedAnnotation = "loadbalancer.harvesterhci.io/after-conversion"

// BalancersMetric counts load balancers by workload, ready and reason.
const BalancersMetric = "harvester_load_balancers"

// AddressesAnnotation on a Service has the addresses that kube-vip announces for it, separated by commas. kube-vip reads it before
// spec.loadBalancerIP.
const AddressesAnnotation = "kube-vip.io/loadbalancerIPs"
