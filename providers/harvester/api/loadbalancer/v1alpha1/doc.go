// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains the older version of LoadBalancer, which is
// served for clients that still write it. The storage version is v1beta1;
// package loadbalancer of the load balancer manager converts between them.
//
// +kubebuilder:object:generate=true
// +groupName=loadbalancer.harvesterhci.io
package v1alpha1
