// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package services gives Services of a guest cluster addresses of Harvester.
//
// For each Service of type LoadBalancer there is a LoadBalancer on Harvester, which is given an address there. That goes into the Service, both
// into the annotation kube-vip.io/loadbalancerIPs, which kube-vip reads first, and into spec.loadBalancerIP, which others read. kube-vip
// in the guest cluster announces it and puts it into the status of the Service, from where it goes into status.address of the
// LoadBalancer.
//
// Nobody waits for an address: a change of the LoadBalancer goes on with the Service. A LoadBalancer is deleted when its Service is, never
// because it is slow.
package services
