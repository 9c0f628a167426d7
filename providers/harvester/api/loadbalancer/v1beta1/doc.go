// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 contains the kinds of the group
// loadbalancer.harvesterhci.io: LoadBalancer, and IPPool, from which
// addresses of load balancers and of machines are allocated.
//
// They belong to Harvester's load balancer, which installs their CRDs and
// controllers; this package defines their wire format. Neither kind has a
// status subresource: the status is written with the object.
//
// +kubebuilder:object:generate=true
// +groupName=loadbalancer.harvesterhci.io
package v1beta1
