// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// VSphereDeploymentZoneSpec defines the desired state of VSphereDeploymentZone.
type VSphereDeploymentZoneSpec struct {
	// server is the host, or host:port, of the vCenter. Clusters on the same server may use the zone.
	// +optional
	Server string `json:"server,omitempty"`

	// failureDomain is the name of the VSphereFailureDomain.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// controlPlane is true if control-plane machines may be placed in the zone. Defaults to true.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// placementConstraint restricts the placement of machines.
	// +required
	PlacementConstraint PlacementConstraint `json:"placementConstraint"`
}

// PlacementConstraint restricts the placement of machines in a failure domain.
type PlacementConstraint struct {
	// resourcePool is the name or inventory path of the resource pool.
	// +optional
	ResourcePool string `json:"resourcePool,omitempty"`

	// folder is the name or inventory path of the folder.
	// +optional
	Folder string `json:"folder,omitempty"`
}

// VSphereDeploymentZoneStatus defines the observed state of VSphereDeploymentZone.
type VSphereDeploymentZoneStatus struct {
	// ready is true if machines can be placed in the zone.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// conditions of the zone, in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // v1beta2 has them as deprecated

	// v1beta2 holds the status fields that v1beta2 has.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// VSphereDeploymentZone is a failure domain in which machines can be placed. Its name is the value of
// Machine.spec.failureDomain.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspheredeploymentzones,scope=Cluster,categories=cluster-api
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
type VSphereDeploymentZone struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereDeploymentZone.
	// +optional
	Spec VSphereDeploymentZoneSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereDeploymentZone.
	// +optional
	Status VSphereDeploymentZoneStatus `json:"status,omitempty,omitzero"`
}

// VSphereDeploymentZoneList is a list of VSphereDeploymentZones.
//
// +kubebuilder:object:root=true
type VSphereDeploymentZoneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereDeploymentZone `json:"items"`
}
