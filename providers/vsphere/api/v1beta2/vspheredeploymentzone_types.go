// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AbandonConfiguredAnnotation on a VSphereDeploymentZone allows deleting the zone without removing what autoConfigure has
// created in its vCenter, for example if the vCenter no longer exists. Its value is ignored.
const AbandonConfiguredAnnotation = "faultline.io/abandon-configured"

// DeploymentZoneFinalizer protects a VSphereDeploymentZone while it has machines.
const DeploymentZoneFinalizer = "vspheredeploymentzone.infrastructure.cluster.x-k8s.io"

// VSphereDeploymentZoneSpec defines the desired state of VSphereDeploymentZone.
type VSphereDeploymentZoneSpec struct {
	// server is the host, or host:port, of the vCenter. Clusters on the same server may use the zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Server string `json:"server,omitempty"`

	// thumbprint of the vCenter's certificate. If omitted, a zone without an identityRef uses the thumbprint of the oldest
	// VSphereCluster that selects it and has the same server. Without any thumbprint, the certificate must be signed by an
	// authority that the manager trusts.
	// +optional
	Thumbprint string `json:"thumbprint,omitempty"`

	// identityRef references the VSphereClusterIdentity whose account is used to check the zone. Its allowedNamespaces do not
	// apply, because a zone has no namespace. Defaults to the manager's own account, or else to the account of the oldest
	// VSphereCluster that selects the zone. Machines are created with the account of their cluster.
	// +optional
	IdentityRef *VSphereIdentityReference `json:"identityRef,omitempty"`

	// failureDomain is the name of the VSphereFailureDomain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	FailureDomain string `json:"failureDomain,omitempty"`

	// controlPlane is true if control-plane machines may be placed in the zone. Defaults to true.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// placementConstraint restricts the placement of machines.
	// +optional
	PlacementConstraint PlacementConstraint `json:"placementConstraint,omitempty,omitzero"`
}

// PlacementConstraint restricts the placement of machines in a failure domain.
// +kubebuilder:validation:MinProperties=1
type PlacementConstraint struct {
	// resourcePool is the name or inventory path of the resource pool.
	// Defaults to the root pool of the failure domain's compute cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ResourcePool string `json:"resourcePool,omitempty"`

	// folder is the name or inventory path of the folder. Defaults to the machine's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Folder string `json:"folder,omitempty"`
}

// VSphereDeploymentZoneStatus defines the observed state of VSphereDeploymentZone.
// +kubebuilder:validation:MinProperties=1
type VSphereDeploymentZoneStatus struct {
	// conditions of the zone: Ready, VCenterAvailable, PlacementConstraintReady, FailureDomainValidated, AutoConfigured, Paused,
	// and one for each check.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ready is true if machines can be placed in the zone. It is omitted until the zone has been checked once, and keeps its
	// value while the vCenter is unavailable.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// observedGeneration is the generation of the spec to which ready applies.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// failureDomainGeneration is the generation of the VSphereFailureDomain to which ready applies.
	// +optional
	// +kubebuilder:validation:Minimum=1
	FailureDomainGeneration int64 `json:"failureDomainGeneration,omitempty"`

	// checkedBy is the account with which the zone was last checked: that of its identityRef, the manager's or a cluster's. It
	// does not change while the account cannot be used, because another account may see less.
	// +optional
	CheckedBy ZoneAccount `json:"checkedBy,omitempty"`

	// checkedAt is when the result of the checks last changed.
	// +optional
	CheckedAt metav1.Time `json:"checkedAt,omitempty,omitzero"`

	// staleSince is when the vCenter became unavailable for checks; the status of the zone is from before that time. It is
	// omitted while the vCenter is available.
	// +optional
	StaleSince metav1.Time `json:"staleSince,omitempty,omitzero"`

	// configured lists what autoConfigure has created in the vCenter and this zone uses. An object is recorded before it is
	// created, and removed with the last zone that lists it. Nothing else is ever changed or removed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Configured []ConfiguredObject `json:"configured,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// ConfiguredObject is an object in a vCenter that autoConfigure has created.
type ConfiguredObject struct {
	// kind of the object.
	// +required
	Kind ConfiguredKind `json:"kind,omitempty"`

	// name of the group, rule, category or tag.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Name string `json:"name,omitempty"`

	// category of the tag.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Category string `json:"category,omitempty"`

	// object is the compute cluster of the group or rule, or the object to which the tag is attached, such as
	// ClusterComputeResource:domain-c8.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Object string `json:"object,omitempty"`

	// state is Made once the object was seen in vCenter after it was last created or changed.
	// +required
	State ConfiguredState `json:"state,omitempty"`

	// hosts are the hosts last written to the host group.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Hosts []string `json:"hosts,omitempty"`
}

// ConfiguredKind is a kind of object that autoConfigure creates.
// +kubebuilder:validation:Enum=HostGroup;VMGroup;Rule;TagCategory;Tag;TagAttachment
type ConfiguredKind string

const (
	// ConfiguredHostGroup is a host group of a compute cluster.
	ConfiguredHostGroup ConfiguredKind = "HostGroup"
	// ConfiguredVMGroup is a VM group of a compute cluster.
	ConfiguredVMGroup ConfiguredKind = "VMGroup"
	// ConfiguredRule is a rule that runs a VM group on a host group.
	ConfiguredRule ConfiguredKind = "Rule"
	// ConfiguredTagCategory is a tag category.
	ConfiguredTagCategory ConfiguredKind = "TagCategory"
	// ConfiguredTag is a tag.
	ConfiguredTag ConfiguredKind = "Tag"
	// ConfiguredTagAttachment is the attachment of a tag to an object.
	ConfiguredTagAttachment ConfiguredKind = "TagAttachment"
)

// ConfiguredState is the state of a ConfiguredObject.
// +kubebuilder:validation:Enum=Pending;Made
type ConfiguredState string

const (
	// ConfiguredPending means that the object is about to be created or changed.
	ConfiguredPending ConfiguredState = "Pending"
	// ConfiguredMade means that the object was seen in its desired state.
	ConfiguredMade ConfiguredState = "Made"
)

// ZoneAccount is the kind of account with which a zone is checked.
// +kubebuilder:validation:Enum=Identity;Manager;Cluster
type ZoneAccount string

const (
	// IdentityAccount is the account of the zone's identityRef.
	IdentityAccount ZoneAccount = "Identity"
	// ManagerAccount is the manager's own account.
	ManagerAccount ZoneAccount = "Manager"
	// ClusterAccount is the account of the oldest cluster that selects the zone.
	ClusterAccount ZoneAccount = "Cluster"
)

// VSphereDeploymentZone is a failure domain in which machines can be placed. Its name is the value of
// Machine.spec.failureDomain.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=vspheredeploymentzones,scope=Cluster,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Failure Domain",type="string",JSONPath=".spec.failureDomain",description="VSphereFailureDomain of the zone"
// +kubebuilder:printcolumn:name="Server",type="string",JSONPath=".spec.server",description="vCenter of the zone"
// +kubebuilder:printcolumn:name="Control Plane",type="boolean",JSONPath=".spec.controlPlane",description="Zone may be used for control-plane machines"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Machines can be placed in the zone"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"FailureDomainValidated\")].reason",description="Reason of the FailureDomainValidated condition"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="Message of the Ready condition",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereDeploymentZone struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereDeploymentZone.
	// +required
	Spec VSphereDeploymentZoneSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereDeploymentZone.
	// +optional
	Status VSphereDeploymentZoneStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the zone.
func (z *VSphereDeploymentZone) GetConditions() []metav1.Condition {
	return z.Status.Conditions
}

// SetConditions replaces the conditions of the zone.
func (z *VSphereDeploymentZone) SetConditions(conditions []metav1.Condition) {
	z.Status.Conditions = conditions
}

// VSphereDeploymentZoneList is a list of VSphereDeploymentZones.
//
// +kubebuilder:object:root=true
type VSphereDeploymentZoneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereDeploymentZone `json:"items"`
}
