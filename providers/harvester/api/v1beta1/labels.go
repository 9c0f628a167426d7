// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Identity of objects created on Harvester. A name identifies nothing there: clusters of the same name can share a namespace. The random
// id of a HarvesterMachine or HarvesterCluster alone does not identify its objects either, because labels and annotations are copied:
// Harvester copies them to clones and restored volumes, and users copy them with YAML. An object belongs to a HarvesterMachine or
// HarvesterCluster only if it has the id and names that HarvesterMachine or HarvesterCluster as its owner.
const (
	// MachineIDAnnotation on a HarvesterMachine is its id. It is written before any object is created on Harvester and survives
	// clusterctl move.
	MachineIDAnnotation = "infrastructure.cluster.x-k8s.io/harvester-machine-id"

	// IDOfAnnotation on a HarvesterMachine or HarvesterCluster is the namespace/name of the object that its id was generated for. It is
	// written together with the id. In a copy of another object's YAML it differs from the namespace/name of the copy. It survives
	// clusterctl move and a restored backup of the management cluster.
	IDOfAnnotation = "infrastructure.cluster.x-k8s.io/harvester-id-of"

	// VolumesAnnotation on a HarvesterMachine lists the names of the claims of its disks, separated by commas, if they differ from the
	// names that the provider generates. This is the case for a VirtualMachine that was created before Faultline or that Harvester
	// restored from a backup. It survives clusterctl move.
	VolumesAnnotation = "infrastructure.cluster.x-k8s.io/harvester-volumes"

	// VirtualMachineNameAnnotation on a HarvesterMachine is the name of its VirtualMachine if it differs from that of the
	// HarvesterMachine. It is written before an object of that name exists on Harvester and survives clusterctl move.
	VirtualMachineNameAnnotation = "infrastructure.cluster.x-k8s.io/harvester-virtual-machine-name"

	// IPPoolsAnnotation on a HarvesterMachine lists the IPPools that an address may have been allocated from, separated by commas. It is
	// written before the allocation and survives clusterctl move.
	IPPoolsAnnotation = "infrastructure.cluster.x-k8s.io/harvester-ip-pools"

	// IPHolderAnnotation on a HarvesterMachine is the holder id of its address in an IPPool: the machine's namespace, name and id. A
	// machine without it may hold an address under its namespace and name alone, which machines of other management clusters may share.
	// It survives clusterctl move.
	IPHolderAnnotation = "infrastructure.cluster.x-k8s.io/harvester-ip-holder"

	// MachineIDLabel on a VirtualMachine, on its template, its PersistentVolumeClaims and its Secret is the id of their HarvesterMachine.
	MachineIDLabel = MachineIDAnnotation

	// ClusterIDAnnotation on a HarvesterCluster is its id. It is written before any object is created on Harvester and survives
	// clusterctl move. status.id holds the same id, in case the annotation is removed.
	ClusterIDAnnotation = "infrastructure.cluster.x-k8s.io/harvester-cluster-id"

	// ClusterIDLabel on the template of a VirtualMachine, on a LoadBalancer, its Service and an IPPool is the id of their
	// HarvesterCluster.
	ClusterIDLabel = ClusterIDAnnotation

	// OwnerAnnotation on an object on Harvester is the namespace/name of its HarvesterMachine or, on a LoadBalancer, a Service and an
	// IPPool, of its HarvesterCluster. An event of the object enqueues that owner. The object belongs to the owner only if it also has
	// the owner's id.
	OwnerAnnotation = "infrastructure.cluster.x-k8s.io/harvester-owner"

	// HarvesterUIDAnnotation on a HarvesterCluster is the UID of the namespace kube-system of its Harvester when the cluster was first
	// connected. A kubeconfig that leads to another Harvester is not used, because all machines would seem to be lost.
	HarvesterUIDAnnotation = "infrastructure.cluster.x-k8s.io/harvester-uid"

	// ControlPlaneLabel on the template of a control plane's VirtualMachine is the id of the HarvesterCluster. The load balancer selects
	// virtual machines by it.
	ControlPlaneLabel = "infrastructure.cluster.x-k8s.io/harvester-control-plane"
)

// Annotations that users set.
const (
	// AbandonAnnotation on a HarvesterMachine or HarvesterCluster, with any value, allows its deletion while Harvester is unreachable or
	// refuses to delete an object. An event names the objects that remain on Harvester.
	AbandonAnnotation = "faultline.io/abandon-virtual-machine"
)

// Labels and annotations that Harvester and earlier versions of the provider use.
const (
	// MachineTypeLabel on the template of a control plane's VirtualMachine is MachineTypeControlPlanePrefix followed by the name of the
	// Cluster.
	MachineTypeLabel = "harvestercluster/machinetype"

	// MachineTypeControlPlanePrefix precedes the name of the Cluster.
	MachineTypeControlPlanePrefix = "controlplane-"

	// CreatorLabel on a VirtualMachine names its creator.
	CreatorLabel = "harvesterhci.io/creator"

	// Creator is the value of CreatorLabel that this provider sets.
	Creator = "harvester"

	// VMNameLabel on the template of a VirtualMachine is the name of the VirtualMachine.
	VMNameLabel = "harvesterhci.io/vmName"

	// VMNamePrefixLabel on the template of a VirtualMachine is the name of the VirtualMachine, too.
	VMNamePrefixLabel = "harvesterhci.io/vmNamePrefix"

	// VolumeClaimTemplatesAnnotation on a VirtualMachine holds, as JSON, the PersistentVolumeClaims that Harvester creates for it.
	VolumeClaimTemplatesAnnotation = "harvesterhci.io/volumeClaimTemplates"

	// NetworkIPsAnnotation on a VirtualMachine holds, as JSON, the addresses that Harvester displays for it.
	NetworkIPsAnnotation = "networks.harvesterhci.io/ips"

	// DiskNamesAnnotation on the template of a VirtualMachine holds, as JSON, the names of its PersistentVolumeClaims.
	DiskNamesAnnotation = "harvesterhci.io/diskNames"

	// SSHNamesAnnotation on the template of a VirtualMachine holds, as JSON, the names of its key pairs.
	SSHNamesAnnotation = "harvesterhci.io/sshNames"

	// ImageIDAnnotation on a PersistentVolumeClaim is the namespace/name of the VirtualMachineImage that the volume is created from.
	ImageIDAnnotation = "harvesterhci.io/imageId"

	// WitnessLabel on a host of Harvester marks it as one that runs no virtual machines.
	WitnessLabel = "node-role.harvesterhci.io/witness"
)

// Attribute keys of published failure domains.
const (
	// TopologyKeyAttribute is the host label of the failure domain. Clusters published it under this name before Faultline.
	TopologyKeyAttribute = "topologyKey"

	// TopologyValueAttribute is the value of the label. It defaults to the name of the failure domain.
	TopologyValueAttribute = "topologyValue"
)

// Finalizers.
const (
	// ClusterFinalizer keeps a HarvesterCluster until its machines, its load balancer and its pools are deleted.
	ClusterFinalizer = "harvester.infrastructure.cluster.x-k8s.io/finalizer"

	// ClusterFinalizerLegacy on a HarvesterCluster is the earlier spelling of ClusterFinalizer.
	ClusterFinalizerLegacy = "harvester.infrastructure.cluster.x-k8s.io"

	// MachineFinalizer keeps a HarvesterMachine until its VirtualMachine and volumes are deleted and its address is released.
	MachineFinalizer = "harvestermachine.infrastructure.cluster.x-k8s.io/finalizer"

	// MachineFinalizerLegacy on a HarvesterMachine is the earlier spelling of MachineFinalizer.
	MachineFinalizerLegacy = "harvestermachine.infrastructure.cluster.x-k8s.io"

	// IdentitySecretFinalizer keeps the Secret named by spec.identitySecret until no HarvesterCluster uses it.
	IdentitySecretFinalizer = "harvestercluster.infrastructure.cluster.x-k8s.io/identity"
)

const (
	// ProviderIDPrefix precedes the UID of the VirtualMachine in a provider ID.
	ProviderIDPrefix = "harvester://"

	// KubeconfigKey is the key of the kubeconfig in the Secret named by spec.identitySecret of a HarvesterCluster.
	KubeconfigKey = "kubeconfig"
)
