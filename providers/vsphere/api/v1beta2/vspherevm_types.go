// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// VMFinalizer protects a VSphereVM until its virtual machine is deleted.
	VMFinalizer = "vspherevm.infrastructure.cluster.x-k8s.io"

	// IPAddressClaimFinalizer protects an IPAddressClaim while a virtual machine uses its address.
	IPAddressClaimFinalizer = "vspherevm.infrastructure.cluster.x-k8s.io/ip-claim-protection"

	// GuestSoftPowerOffDefaultTimeoutSeconds is the default timeout of powerOffMode trySoft, in seconds.
	GuestSoftPowerOffDefaultTimeoutSeconds = 5 * 60
)

// VSphereVMSpec defines the desired state of VSphereVM, merged from the VSphereMachine, its failure domain and its cluster.
type VSphereVMSpec struct {
	VirtualMachineCloneSpec `json:",inline"`

	// placement is the placement by the machine's failure domain. It is set once, when the VSphereVM is created, so that later
	// changes to the domain do not affect the machine.
	// +optional
	Placement VSphereVMPlacement `json:"placement,omitempty,omitzero"`

	// bootstrapRef references the Secret with the bootstrap data.
	// +optional
	BootstrapRef VSphereVMBootstrapReference `json:"bootstrapRef,omitempty,omitzero"`

	// biosUUID of the virtual machine. It is set by the controller once the machine is ready.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	BiosUUID string `json:"biosUUID,omitempty"`

	// powerOffMode is the mode in which the machine is powered off before it is deleted. Defaults to hard.
	// +optional
	PowerOffMode VirtualMachinePowerOpMode `json:"powerOffMode,omitempty"`

	// guestSoftPowerOffTimeoutSeconds is how long powerOffMode trySoft waits for the guest, in seconds. Defaults to 300.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GuestSoftPowerOffTimeoutSeconds int32 `json:"guestSoftPowerOffTimeoutSeconds,omitempty"`
}

// VSphereVMPlacement is the placement of a virtual machine by its failure domain.
// +kubebuilder:validation:MinProperties=1
type VSphereVMPlacement struct {
	// failureDomain is the name of the VSphereDeploymentZone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	FailureDomain string `json:"failureDomain,omitempty"`

	// computeCluster on which the machine must run.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ComputeCluster string `json:"computeCluster,omitempty"`

	// vmGroupName is the VM group that the machine joins before it is powered on.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	VMGroupName string `json:"vmGroupName,omitempty"`

	// hostGroupName is the host group on which the VM group is kept.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	HostGroupName string `json:"hostGroupName,omitempty"`

	// machineResourcePool is true if spec.resourcePool comes from the VSphereMachine, because the failure domain names none. If
	// computeCluster does not have that pool, its root pool is used.
	// +optional
	MachineResourcePool *bool `json:"machineResourcePool,omitempty"`
}

// VSphereVMBootstrapReference references a Secret in the namespace of the VSphereVM.
type VSphereVMBootstrapReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// TaskOperation is the operation of a task in vCenter on a virtual machine.
// +kubebuilder:validation:Enum=clone;configure;powerOn;powerOff;destroy;upgradeHardware;addDevices
type TaskOperation string

// Operations of tasks.
const (
	// CloneOperation creates the machine.
	CloneOperation TaskOperation = "clone"

	// ConfigureOperation changes its settings.
	ConfigureOperation TaskOperation = "configure"

	// PowerOnOperation powers it on.
	PowerOnOperation TaskOperation = "powerOn"

	// PowerOffOperation powers it off.
	PowerOffOperation TaskOperation = "powerOff"

	// DestroyOperation deletes it with its disks.
	DestroyOperation TaskOperation = "destroy"

	// UpgradeHardwareOperation upgrades its virtual hardware.
	UpgradeHardwareOperation TaskOperation = "upgradeHardware"

	// AddDevicesOperation adds host devices to it.
	AddDevicesOperation TaskOperation = "addDevices"
)

// VSphereVMStatus defines the observed state of VSphereVM.
// +kubebuilder:validation:MinProperties=1
type VSphereVMStatus struct {
	// conditions of the virtual machine: Ready, VirtualMachineProvisioned,
	// VCenterAvailable, InFailureDomain, VMGroupJoined,
	// IPAddressClaimsFulfilled, GuestSoftPowerOffSucceeded,
	// PCIDevicesDetached and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// host is the name of the host that the machine runs on.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Host string `json:"host,omitempty"`

	// failureDomain is the failure domain that the machine is in according to the inventory.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain *string `json:"failureDomain,omitempty"`

	// ready is true if the machine is running and has its addresses.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// addresses of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=39
	Addresses []string `json:"addresses,omitempty"`

	// cloneMode is the mode in which the machine was cloned.
	// +optional
	CloneMode CloneMode `json:"cloneMode,omitempty"`

	// snapshot is the snapshot that a linked clone depends on.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Snapshot string `json:"snapshot,omitempty"`

	// retryAfter is when a failed task is retried.
	// +optional
	RetryAfter metav1.Time `json:"retryAfter,omitempty,omitzero"`

	// taskRef is the running task in vCenter.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	TaskRef string `json:"taskRef,omitempty"`

	// taskOperation is the operation of that task.
	// +optional
	TaskOperation TaskOperation `json:"taskOperation,omitempty"`

	// templateRef is the managed object reference of the template from which the machine was, or is being, cloned.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	TemplateRef string `json:"templateRef,omitempty"`

	// network is the observed state of the machine's network cards.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Network []NetworkStatus `json:"network,omitempty"`

	// moduleUUID is the vCenter cluster module that the machine is in.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ModuleUUID *string `json:"moduleUUID,omitempty"`

	// vmRef is the managed object reference of the machine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	VMRef string `json:"vmRef,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *MachineDeprecatedStatus `json:"deprecated,omitempty"`
}

// VSphereVM is a virtual machine in a vCenter. It is created by the controller of VSphereMachine.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspherevms,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Machine is running and has its addresses"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualMachineProvisioned\")].reason",description="Reason of the VirtualMachineProvisioned condition"
// +kubebuilder:printcolumn:name="Failure Domain",type="string",JSONPath=".status.failureDomain",description="Failure domain of the machine"
// +kubebuilder:printcolumn:name="Host",type="string",JSONPath=".status.host",description="Host that the machine runs on"
// +kubebuilder:printcolumn:name="Addresses",type="string",JSONPath=".status.addresses",description="Addresses of the machine",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereVM struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereVM.
	// +required
	Spec VSphereVMSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereVM.
	// +optional
	Status VSphereVMStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the virtual machine.
func (v *VSphereVM) GetConditions() []metav1.Condition {
	return v.Status.Conditions
}

// SetConditions replaces the conditions of the virtual machine.
func (v *VSphereVM) SetConditions(conditions []metav1.Condition) {
	v.Status.Conditions = conditions
}

// InService reports whether the virtual machine was provisioned and is not being deleted: it keeps running even if its vCenter
// is unavailable.
func (v *VSphereVM) InService() bool {
	return v.Spec.BiosUUID != "" && v.DeletionTimestamp.IsZero()
}

// VSphereVMList is a list of VSphereVMs.
//
// +kubebuilder:object:root=true
type VSphereVMList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereVM `json:"items"`
}
