// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// V1Beta2Status holds the status in the format of v1beta2.
type V1Beta2Status struct {
	// conditions in the format of v1beta2.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FailureDomain is a failure domain that machines can be placed in.
type FailureDomain struct {
	// controlPlane reports whether the failure domain is suitable for control plane machines.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// attributes are free-form data for users of the failure domain.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// APIEndpoint is the endpoint of an API server.
type APIEndpoint struct {
	// host name or address.
	// +required
	Host string `json:"host"`

	// port number.
	// +required
	Port int32 `json:"port"`
}

// Image is the image that a host boots.
type Image struct {
	// url of the image.
	// +required
	URL string `json:"url"`

	// checksum of the image, or the URL of a file that contains it.
	// +optional
	Checksum *string `json:"checksum,omitempty"`

	// checksumType is the algorithm of the checksum: md5, sha256 or sha512.
	// +optional
	// +kubebuilder:validation:Enum=md5;sha256;sha512
	ChecksumType *string `json:"checksumType,omitempty"`

	// format of the image: raw, qcow2, vdi, vmdk or live-iso.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vdi;vmdk;live-iso
	DiskFormat *string `json:"format,omitempty"`
}

// CustomDeploy is a deploy procedure implemented by a custom ramdisk.
type CustomDeploy struct {
	// method is the name of the procedure.
	// +required
	Method string `json:"method"`
}

// HostSelector selects BareMetalHosts by their labels. All requirements must match.
type HostSelector struct {
	// matchLabels are labels that the host must have, with these values.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// matchExpressions are requirements on the labels of the host.
	// +optional
	MatchExpressions []HostSelectorRequirement `json:"matchExpressions,omitempty"`
}

// HostSelectorRequirement is a requirement on a single label.
type HostSelectorRequirement struct {
	// key is the label key.
	// +required
	Key string `json:"key"`

	// operator is in, notin, exists, !, =, ==, !=, gt or lt, in upper or lower
	// case.
	// +required
	Operator string `json:"operator"`

	// values are the values to compare the label with.
	// +required
	Values []string `json:"values"`
}
