// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

// Annotations of Services.
const (
	prefix = "cloudprovider.harvesterhci.io/"
	// ipamAnnotation is pool (default) or dhcp.
	ipamAnnotation = prefix + "ipam"
	// networkAnnotation defines the network of the address, and thereby its pool.
	networkAnnotation = prefix + "network"
	// projectAnnotation and namespaceAnnotation are superseded by what Harvester knows of the virtual machines. If they differ from that,
	// an event reports that they have no effect.
	projectAnnotation   = prefix + "project"
	namespaceAnnotation = prefix + "namespace"
	// primaryAnnotation names the Service, as namespace/name, whose address this one shares.
	primaryAnnotation = prefix + "primary-service"
	// primaryLabel is the corresponding label on Services that share an address.
	primaryLabel = primaryAnnotation

	// nicAnnotation is the interface on which kube-vip announces the addresses.
	nicAnnotation = "kube-vip.io/serviceInterface"
	// givenNICAnnotation records the interface that this controller has set. Any other was set by another client.
	givenNICAnnotation = prefix + "service-interface"
)

// Labels and annotations of LoadBalancers, in addition to those that state the requirements for a pool.
const (
	nameLabel      = prefix + "serviceName"
	namespaceLabel = prefix + "serviceNamespace"
	// askedAnnotation records the network that the Service has requested, which cannot change while it has an address.
	askedAnnotation = prefix + "lb-network"
)
