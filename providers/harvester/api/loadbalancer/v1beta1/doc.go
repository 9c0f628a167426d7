// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the kinds of the group loadbalancer.harvesterhci.io:
// LoadBalancer, and IPPool, which addresses of load balancers and of machines
// are taken from.
//
// They belong to Harvester's load balancer, which brings their CRDs and
// controllers; here is what goes over the wire. Neither kind has a status
// subresource: status is written with the object.
//
// +kubebuilder:object:generate=true
// +groupName=loadbalancer.harvesterhci.io
package v1beta1
