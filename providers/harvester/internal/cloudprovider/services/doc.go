// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package services allocates addresses of Harvester to Services of a guest cluster.
//
// Each Service of type LoadBalancer has a LoadBalancer on Harvester, to which Harvester allocates an address. The address is written to
// the annotation kube-vip.io/loadbalancerIPs of the Service, which kube-vip prefers, and to spec.loadBalancerIP, which other
// implementations read. kube-vip in the guest cluster announces it and writes it to the status of the Service, from where it is copied to
// status.address of the LoadBalancer.
//
// No reconcile waits for an address: a change of the LoadBalancer enqueues the Service. A LoadBalancer is deleted only when its Service
// is, never because an address takes long.
package services
