// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

// Annotations of Services.
const (
	prefix = "cloudprovider.harvesterhci.io/"
	// ipamAnnotation on a Service is "pool" (default) or "dhcp".
	ipamAnnotation = prefix + "ipam"
	// networkAnnotation on a Service names the network of its address, and thereby the pool.
	networkAnnotation = prefix + "network"
	// projectAnnotation on a Service is superseded by the project that Harvester knows of the virtual machines. If it differs from that, an
	// event reports that it has no effect.
	projectAnnotation = prefix + "project"
	// namespaceAnnotation on a Service is superseded by the namespace of the virtual machines. If it differs from that, an event reports
	// that it has no effect.
	namespaceAnnotation = prefix + "namespace"
	// primaryAnnotation on a Service names the Service, as namespace/name, whose address it shares.
	primaryAnnotation = prefix + "primary-service"
	// primaryLabel on a Service is the label that corresponds to primaryAnnotation.
	primaryLabel = primaryAnnotation

	// nicAnnotation on a Service is the interface on which kube-vip announces the addresses.
	nicAnnotation = "kube-vip.io/serviceInterface"
	// givenNICAnnotation on a Service records the interface that this controller has set. Any other was set by another client.
	givenNICAnnotation = prefix + "service-interface"
)

// Labels and annotations of LoadBalancers, in addition to those that state the requirements for a pool.
const (
	// nameLabel on a LoadBalancer is the name of its Service in the guest cluster.
	nameLabel = prefix + "serviceName"
	// namespaceLabel on a LoadBalancer is the namespace of its Service in the guest cluster.
	namespaceLabel = prefix + "serviceNamespace"
	// askedAnnotation on a LoadBalancer records the network that its Service has requested, which cannot change while it has an address.
	askedAnnotation = prefix + "lb-network"
)
