// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// HostSelector selects BareMetalHosts by their labels. All requirements must match.
type HostSelector struct {
	// matchLabels are labels that the host must have, with these values.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// matchExpressions are requirements on the labels of the host.
	// +optional
	// +listType=atomic
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
	// +optional
	// +listType=atomic
	Values []string `json:"values,omitempty"`
}

// ChecksumType is the algorithm of a checksum.
// +kubebuilder:validation:Enum=md5;sha256;sha512
type ChecksumType string

// DiskFormat is the format of an image.
// +kubebuilder:validation:Enum=raw;qcow2;vdi;vmdk;live-iso
type DiskFormat string

// DiskFormatLiveISO is an image that is booted without being written to disk. It has no checksum.
const DiskFormatLiveISO DiskFormat = "live-iso"

// OCIScheme is the URL scheme of an image in an OCI registry. The digest replaces the checksum.
const OCIScheme = "oci"

// Image is the image that a host boots.
// +kubebuilder:validation:MinProperties=1
type Image struct {
	// url of the image.
	// +optional
	URL string `json:"url,omitempty"`

	// checksum of the image, or the URL of a file that contains it. Not required for images in an OCI registry and live ISOs.
	// +optional
	Checksum string `json:"checksum,omitempty"`

	// checksumType is the algorithm of the checksum: md5, sha256 or sha512.
	// +optional
	ChecksumType *ChecksumType `json:"checksumType,omitempty"`

	// diskFormat is the format of the image: raw, qcow2, vdi, vmdk or live-iso.
	// +optional
	DiskFormat *DiskFormat `json:"diskFormat,omitempty"`
}

// IsDefined reports whether any field of the image is set.
func (i Image) IsDefined() bool {
	return i != Image{}
}

// CustomDeploy is a deploy procedure implemented by a custom ramdisk.
// +kubebuilder:validation:MinProperties=1
type CustomDeploy struct {
	// method is the name of the procedure.
	// +optional
	Method string `json:"method,omitempty"`
}
