// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPAddressStr is an IPv4 or IPv6 address.
// +kubebuilder:validation:MaxLength=45
type IPAddressStr string

// IPAddressv4Str is an IPv4 address.
// +kubebuilder:validation:Format=ipv4
type IPAddressv4Str string

// IPAddressv6Str is an IPv6 address.
// +kubebuilder:validation:Format=ipv6
type IPAddressv6Str string

// IPSubnetStr is an IPv4 or IPv6 network in CIDR notation.
// +kubebuilder:validation:MaxLength=49
type IPSubnetStr string

// IPAddressSpec defines an address and the claim that holds it.
type IPAddressSpec struct {
	// claim is the IPClaim that holds the address.
	// +required
	Claim corev1.ObjectReference `json:"claim"`

	// pool is the IPPool that the address was allocated from.
	// +required
	Pool corev1.ObjectReference `json:"pool"`

	// prefix is the prefix length of the network.
	// +optional
	// +kubebuilder:validation:Maximum=128
	Prefix int `json:"prefix,omitempty"`

	// gateway of the network.
	// +optional
	Gateway *IPAddressStr `json:"gateway,omitempty"`

	// address is the address itself.
	// +required
	Address IPAddressStr `json:"address"`

	// dnsServers of the network.
	// +optional
	// +listType=atomic
	DNSServers []IPAddressStr `json:"dnsServers,omitempty"`
}

// IPAddress is an address allocated from an IPPool to an IPClaim.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ipaddresses,scope=Namespaced,categories=metal3,shortName=ipa;ipaddress;m3ipa;m3ipaddress;m3ipaddresses;metal3ipa;metal3ipaddress;metal3ipaddresses
// +kubebuilder:storageversion
type IPAddress struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the address and the claim that holds it.
	// +optional
	Spec IPAddressSpec `json:"spec,omitempty,omitzero"`
}

// IPAddressList is a list of IPAddresses.
//
// +kubebuilder:object:root=true
type IPAddressList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPAddress `json:"items"`
}
