// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the older version of LoadBalancer, which is served for
// those who still write it. What is stored is v1beta1; package conversion of
// the load balancer manager has what becomes of what.
//
// +kubebuilder:object:generate=true
// +groupName=loadbalancer.harvesterhci.io
package v1alpha1
