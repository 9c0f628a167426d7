// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

// Annotations of Services.
const (
	prefix = "cloudprovider.harvesterhci.io/"
	// ipamAnnotation is pool, which is the default, or dhcp.
	ipamAnnotation = prefix + "ipam"
	// networkAnnotation decides which pool the address comes from.
	networkAnnotation = prefix + "network"
	// projectAnnotation and namespaceAnnotation say of the virtual machines what Harvester knows, and are told to have no effect where they
	// say something else.
	projectAnnotation   = prefix + "project"
	namespaceAnnotation = prefix + "namespace"
	// primaryAnnotation names the Service, as namespace/name, whose address this one has too.
	primaryAnnotation = prefix + "primary-service"
	// primaryLabel is its counterpart on Services that share an address.
	primaryLabel = primaryAnnotation

	// nicAnnotation is the interface that kube-vip announces the addresses on.
	nicAnnotation = "kube-vip.io/serviceInterface"
	// givenNICAnnotation has the interface that the Service was given. Another is somebody else's.
	givenNICAnnotation = prefix + "service-interface"
)

// Labels and annotations of LoadBalancers, beside those by which they say what their pool must be for.
const (
	nameLabel      = prefix + "serviceName"
	namespaceLabel = prefix + "serviceNamespace"
	// askedAnnotation has the network that the Service has asked for, which the address stays in.
	askedAnnotation = prefix + "lb-network"
)
