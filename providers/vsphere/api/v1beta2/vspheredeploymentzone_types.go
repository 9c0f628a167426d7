// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AbandonConfiguredAnnotation on a VSphereDeploymentZone lets it be deleted
// without removing what autoConfigure has made in its vCenter: one that does not
// exist any more, for example. Its value does not matter.
const AbandonConfiguredAnnotation = "infrastructure.cluster.x-k8s.io/abandon-configured"

// DeploymentZoneFinalizer keeps a VSphereDeploymentZone while machines are in
// it.
const DeploymentZoneFinalizer = "vspheredeploymentzone.infrastructure.cluster.x-k8s.io"

// VSphereDeploymentZoneSpec makes a failure domain of one vCenter usable, and
// says where in it machines go.
type VSphereDeploymentZoneSpec struct {
	// server is the host, or host:port, of the vCenter. Clusters on the same
	// server may use the zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Server string `json:"server,omitempty"`

	// thumbprint of the vCenter's certificate. Without one the certificate has to
	// be of an authority that the manager trusts; a zone without an identityRef
	// takes that of the oldest VSphereCluster which selects it and has the same
	// server.
	// +optional
	Thumbprint string `json:"thumbprint,omitempty"`

	// identityRef names the VSphereClusterIdentity with whose account the zone is
	// checked. Its allowedNamespaces do not matter: a zone is in no namespace.
	// Defaults to the manager's own account, else to that of the oldest
	// VSphereCluster that selects the zone. Machines are made with the account of
	// their cluster.
	// +optional
	IdentityRef *VSphereIdentityReference `json:"identityRef,omitempty"`

	// failureDomain is the name of the VSphereFailureDomain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	FailureDomain string `json:"failureDomain,omitempty"`

	// controlPlane tells whether control-plane machines may be put here.
	// Defaults to true.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// placementConstraint narrows where machines go.
	// +optional
	PlacementConstraint PlacementConstraint `json:"placementConstraint,omitempty,omitzero"`
}

// PlacementConstraint narrows where in a failure domain machines go.
// +kubebuilder:validation:MinProperties=1
type PlacementConstraint struct {
	// resourcePool is the name or inventory path of the resource pool.
	// Defaults to the root pool of the failure domain's compute cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ResourcePool string `json:"resourcePool,omitempty"`

	// folder is the name or inventory path of the folder. Defaults to the
	// machine's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Folder string `json:"folder,omitempty"`
}

// VSphereDeploymentZoneStatus is what was found of the zone in its vCenter.
// +kubebuilder:validation:MinProperties=1
type VSphereDeploymentZoneStatus struct {
	// conditions of the zone: Ready, VCenterAvailable,
	// PlacementConstraintReady, FailureDomainValidated, Paused, and one for
	// each thing that is checked.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ready tells whether machines can be put in the zone. It is left out
	// until the zone has been checked once, and keeps its value while the
	// vCenter cannot be asked.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// observedGeneration is the generation of the spec that ready is about.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// failureDomainGeneration is the generation of the VSphereFailureDomain that
	// ready is about.
	// +optional
	// +kubebuilder:validation:Minimum=1
	FailureDomainGeneration int64 `json:"failureDomainGeneration,omitempty"`

	// checkedBy is whose account the zone was checked with last: that of its
	// identityRef, the manager's or a cluster's. It is kept to while it cannot
	// be used: another account may see less.
	// +optional
	CheckedBy ZoneAccount `json:"checkedBy,omitempty"`

	// checkedAt is when the outcome of the checks last changed.
	// +optional
	CheckedAt metav1.Time `json:"checkedAt,omitempty,omitzero"`

	// staleSince is since when the vCenter cannot be asked about the zone, which
	// is shown as it was then. It is left out while the vCenter can be asked.
	// +optional
	StaleSince metav1.Time `json:"staleSince,omitempty,omitzero"`

	// configured is what autoConfigure has made in the vCenter that this zone
	// uses. It is noted before it is made, and is removed with the last zone
	// that has it here. Nothing else is ever changed or removed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Configured []ConfiguredObject `json:"configured,omitempty"`

	// deprecated holds status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// ConfiguredObject is something in a vCenter that autoConfigure has made.
type ConfiguredObject struct {
	// kind of what was made.
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

	// object is the compute cluster that group or rule are of, or the object
	// that the tag is attached to, such as ClusterComputeResource:domain-c8.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Object string `json:"object,omitempty"`

	// state says whether it has been seen in vCenter since it was made or
	// changed last.
	// +required
	State ConfiguredState `json:"state,omitempty"`

	// hosts are those that the host group was given last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Hosts []string `json:"hosts,omitempty"`
}

// ConfiguredKind is a kind of what autoConfigure makes.
// +kubebuilder:validation:Enum=HostGroup;VMGroup;Rule;TagCategory;Tag;TagAttachment
type ConfiguredKind string

const (
	// ConfiguredHostGroup is a host group of a compute cluster.
	ConfiguredHostGroup ConfiguredKind = "HostGroup"
	// ConfiguredVMGroup is a VM group of a compute cluster.
	ConfiguredVMGroup ConfiguredKind = "VMGroup"
	// ConfiguredRule is a rule that runs a VM group on a host group.
	ConfiguredRule ConfiguredKind = "Rule"
	// ConfiguredTagCategory is a category of tags.
	ConfiguredTagCategory ConfiguredKind = "TagCategory"
	// ConfiguredTag is a tag.
	ConfiguredTag ConfiguredKind = "Tag"
	// ConfiguredTagAttachment is a tag on an object.
	ConfiguredTagAttachment ConfiguredKind = "TagAttachment"
)

// ConfiguredState is how far something is made.
// +kubebuilder:validation:Enum=Pending;Made
type ConfiguredState string

const (
	// ConfiguredPending is what is about to be made or changed.
	ConfiguredPending ConfiguredState = "Pending"
	// ConfiguredMade is what has been seen as it was made.
	ConfiguredMade ConfiguredState = "Made"
)

// ZoneAccount is a kind of account that a zone is checked with.
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

// VSphereDeploymentZone is a failure domain that machines can be put in; its
// name is what Machine.spec.failureDomain carries.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=vspheredeploymentzones,scope=Cluster,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Failure Domain",type="string",JSONPath=".spec.failureDomain",description="VSphereFailureDomain of the zone"
// +kubebuilder:printcolumn:name="Server",type="string",JSONPath=".spec.server",description="vCenter of the zone"
// +kubebuilder:printcolumn:name="Control Plane",type="boolean",JSONPath=".spec.controlPlane",description="Whether control-plane machines may be put here"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether machines can be put in the zone"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"FailureDomainValidated\")].reason",description="First problem of the failure domain"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What is wrong",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereDeploymentZone struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the zone is.
	// +required
	Spec VSphereDeploymentZoneSpec `json:"spec,omitempty,omitzero"`

	// status is what was found of the zone.
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
