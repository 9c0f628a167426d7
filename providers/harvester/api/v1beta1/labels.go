// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Identity of what is made on Harvester. A name proves nothing there: clusters
// of equal name can share a namespace. The random id of one of our objects alone
// proves nothing either, because labels and annotations are copied: by Harvester
// to clones and restored volumes, and by people with YAML. What carries the id
// and names the object as its owner is that object's, and nothing else is.
const (
	// MachineIDAnnotation on a HarvesterMachine is its id, written before
	// anything exists on Harvester. It survives clusterctl move.
	MachineIDAnnotation = "infrastructure.cluster.x-k8s.io/harvester-machine-id"

	// IDOfAnnotation on a HarvesterMachine or HarvesterCluster is the namespace/name
	// of the object that its id was made for, written together with the id. It
	// differs from the object's own in a copy of another object's YAML. It survives
	// clusterctl move, and a restored backup of the management cluster.
	IDOfAnnotation = "infrastructure.cluster.x-k8s.io/harvester-id-of"

	// VolumesAnnotation on a HarvesterMachine lists, separated by commas, the
	// names of the claims that are its disks, where these are not the names that
	// the provider gives: of a VirtualMachine that was made before Faultline, or
	// that Harvester has restored from a backup. It survives clusterctl move.
	VolumesAnnotation = "infrastructure.cluster.x-k8s.io/harvester-volumes"

	// VirtualMachineNameAnnotation on a HarvesterMachine is the name of its
	// VirtualMachine where that is not its own, written before anything of that
	// name exists on Harvester. It survives clusterctl move.
	VirtualMachineNameAnnotation = "infrastructure.cluster.x-k8s.io/harvester-virtual-machine-name"

	// IPPoolsAnnotation on a HarvesterMachine lists, separated by commas, the
	// IPPools that an address may have been taken from for it, written before
	// that is. It survives clusterctl move.
	IPPoolsAnnotation = "infrastructure.cluster.x-k8s.io/harvester-ip-pools"

	// IPHolderAnnotation on a HarvesterMachine is who holds its address in an
	// IPPool: the machine's namespace, name and id. A machine without it may have
	// an address that was given to its namespace and name alone, which machines
	// of other management clusters may have, too. It survives clusterctl move.
	IPHolderAnnotation = "infrastructure.cluster.x-k8s.io/harvester-ip-holder"

	// MachineIDLabel on a VirtualMachine, on its template, its claims for
	// volumes and its Secret is the id of the HarvesterMachine they are for.
	MachineIDLabel = MachineIDAnnotation

	// ClusterIDAnnotation on a HarvesterCluster is its id, written before
	// anything exists on Harvester. It survives clusterctl move. status.id is the
	// same, which survives what removes annotations.
	ClusterIDAnnotation = "infrastructure.cluster.x-k8s.io/harvester-cluster-id"

	// ClusterIDLabel on the template of a VirtualMachine, on a LoadBalancer, its
	// Service and an IPPool is the id of the HarvesterCluster they are for.
	ClusterIDLabel = ClusterIDAnnotation

	// OwnerAnnotation on an object on Harvester is namespace/name of the
	// HarvesterMachine or, on a LoadBalancer, a Service and an IPPool, of the
	// HarvesterCluster that it is for. An event of the object wakes that one, and
	// the object is its own if it has the id of that one, too.
	OwnerAnnotation = "infrastructure.cluster.x-k8s.io/harvester-owner"

	// HarvesterUIDAnnotation on a HarvesterCluster is the UID of the namespace
	// kube-system of its Harvester, as it was when the cluster was first
	// connected. A kubeconfig that leads to another Harvester is not used: the
	// machines would all seem to be lost.
	HarvesterUIDAnnotation = "infrastructure.cluster.x-k8s.io/harvester-uid"

	// ControlPlaneLabel on the template of a control plane's VirtualMachine is
	// the id of the HarvesterCluster. The load balancer selects by it.
	ControlPlaneLabel = "infrastructure.cluster.x-k8s.io/harvester-control-plane"
)

// Annotations that users set.
const (
	// AbandonAnnotation on a HarvesterMachine or HarvesterCluster, whatever its
	// value, lets it be deleted while Harvester cannot be reached, or refuses to
	// delete something. What stays behind on Harvester is named in an event.
	AbandonAnnotation = "infrastructure.cluster.x-k8s.io/abandon-virtual-machine"
)

// Labels and annotations that Harvester, and the provider as it once was, know.
const (
	// MachineTypeLabel on the template of a control plane's VirtualMachine is
	// MachineTypeControlPlanePrefix and the name of the Cluster.
	MachineTypeLabel = "harvestercluster/machinetype"

	// MachineTypeControlPlanePrefix is before the name of the Cluster.
	MachineTypeControlPlanePrefix = "controlplane-"

	// CreatorLabel on a VirtualMachine says what made it.
	CreatorLabel = "harvesterhci.io/creator"

	// Creator is the value of CreatorLabel.
	Creator = "harvester"

	// VMNameLabel on the template of a VirtualMachine is its name.
	VMNameLabel = "harvesterhci.io/vmName"

	// VMNamePrefixLabel on the template of a VirtualMachine is its name, too.
	VMNamePrefixLabel = "harvesterhci.io/vmNamePrefix"

	// VolumeClaimTemplatesAnnotation on a VirtualMachine holds, as JSON, the
	// claims for volumes that Harvester makes for it.
	VolumeClaimTemplatesAnnotation = "harvesterhci.io/volumeClaimTemplates"

	// NetworkIPsAnnotation on a VirtualMachine holds, as JSON, addresses that
	// Harvester shows for it.
	NetworkIPsAnnotation = "networks.harvesterhci.io/ips"

	// DiskNamesAnnotation on the template of a VirtualMachine holds, as JSON,
	// the names of its claims for volumes.
	DiskNamesAnnotation = "harvesterhci.io/diskNames"

	// SSHNamesAnnotation on the template of a VirtualMachine holds, as JSON, the
	// names of its key pairs.
	SSHNamesAnnotation = "harvesterhci.io/sshNames"

	// ImageIDAnnotation on a claim for a volume is namespace/name of the
	// VirtualMachineImage that the volume is filled from.
	ImageIDAnnotation = "harvesterhci.io/imageId"

	// WitnessLabel on a host of Harvester says that it runs no virtual machines.
	WitnessLabel = "node-role.harvesterhci.io/witness"
)

// Keys of the attributes of published failure domains.
const (
	// TopologyKeyAttribute is the label of hosts that tells the domain, under the
	// name that clusters have published it by since before Faultline.
	TopologyKeyAttribute = "topologyKey"

	// TopologyValueAttribute is the value of the label; without it that is the
	// domain's name.
	TopologyValueAttribute = "topologyValue"
)

// Finalizers.
const (
	// ClusterFinalizer keeps a HarvesterCluster until its machines, its load
	// balancer and its pools are gone.
	ClusterFinalizer = "harvester.infrastructure.cluster.x-k8s.io/finalizer"

	// ClusterFinalizerLegacy is ClusterFinalizer as it was once spelled.
	ClusterFinalizerLegacy = "harvester.infrastructure.cluster.x-k8s.io"

	// MachineFinalizer keeps a HarvesterMachine until its VirtualMachine and
	// volumes are gone and its address is released.
	MachineFinalizer = "harvestermachine.infrastructure.cluster.x-k8s.io/finalizer"

	// MachineFinalizerLegacy is MachineFinalizer as it was once spelled.
	MachineFinalizerLegacy = "harvestermachine.infrastructure.cluster.x-k8s.io"

	// IdentitySecretFinalizer keeps the Secret that spec.identitySecret names
	// until no HarvesterCluster uses it.
	IdentitySecretFinalizer = "harvestercluster.infrastructure.cluster.x-k8s.io/identity"
)

const (
	// ProviderIDPrefix is before the UID of the VirtualMachine in a provider ID.
	ProviderIDPrefix = "harvester://"

	// KubeconfigKey is the key of the kubeconfig in the Secret that
	// spec.identitySecret of a HarvesterCluster names.
	KubeconfigKey = "kubeconfig"
)
