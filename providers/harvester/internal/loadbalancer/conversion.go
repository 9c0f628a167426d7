// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer

import (
	"encoding/json"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1alpha1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/conversion"
)

// Converter returns the converter of LoadBalancers.
func Converter() conversion.Constructor {
	return conversion.KeepingPair(fromHub, toHub)
}

func toHub(src *v1alpha1.LoadBalancer, dst, kept *lbv1.LoadBalancer) {
	known := !apiequality.Semantic.DeepEqual(kept.Spec, lbv1.LoadBalancerSpec{}) || !apiequality.Semantic.DeepEqual(kept.Status, lbv1.LoadBalancerStatus{})
	dst.Spec = lbv1.LoadBalancerSpec{
		Description: src.Spec.Description, WorkloadType: kept.Spec.WorkloadType, IPAM: src.Spec.IPAM, IPPool: kept.Spec.IPPool,
		BackendServerSelector: kept.Spec.BackendServerSelector, HealthCheck: (*lbv1.HealthCheck)(src.Spec.HealthCheck),
		Listeners: conversion.Each(src.Spec.Listeners, func(l v1alpha1.Listener) lbv1.Listener { return lbv1.Listener(l) }),
	}
	if known && kept.Spec.IPAM == "" && src.Spec.IPAM == lbv1.IPAMPool {
		dst.Spec.IPAM = "" // it was defaulted
	}
	dst.Status = lbv1.LoadBalancerStatus{
		BackendServers: kept.Status.BackendServers, AllocatedAddress: kept.Status.AllocatedAddress,
		Address: src.Status.Address, Conditions: src.Status.Conditions,
	}
	if !known {
		dst.Status.AllocatedAddress.IP = allocated(src)
	}
	if !slices.Equal(src.Spec.BackendServers, backendServers(dst)) {
		dst.Spec.BackendServerSelector, dst.Status.BackendServers = nil, nil
		setRequestedServers(dst, src.Spec.BackendServers)
	}
}

// allocated returns the allocated address, as far as v1alpha1 records it.
func allocated(src *v1alpha1.LoadBalancer) string {
	if src.Spec.IPAM == lbv1.IPAMDHCP && src.Status.Address != "" {
		return lbv1.UnspecifiedAddress
	}
	return src.Status.Address
}

func fromHub(src *lbv1.LoadBalancer, dst *v1alpha1.LoadBalancer) {
	dst.Spec = v1alpha1.LoadBalancerSpec{
		Description: src.Spec.Description, IPAM: src.Spec.IPAM, BackendServers: backendServers(src),
		HealthCheck: (*v1alpha1.HealthCheck)(src.Spec.HealthCheck),
		Listeners:   conversion.Each(src.Spec.Listeners, func(l lbv1.Listener) v1alpha1.Listener { return v1alpha1.Listener(l) }),
	}
	if dst.Spec.IPAM == "" {
		dst.Spec.IPAM = lbv1.IPAMPool
	}
	dst.Status = v1alpha1.LoadBalancerStatus{Address: src.Status.Address, Conditions: src.Status.Conditions}
}

// backendServers returns the addresses of the current and the requested backends.
func backendServers(lb *lbv1.LoadBalancer) []string {
	all := slices.Clone(lb.Status.BackendServers)
	for _, server := range RequestedServers(lb) {
		if !slices.Contains(lb.Status.BackendServers, server) {
			all = append(all, server)
		}
	}
	return all
}

// RequestedServers returns the addresses of machines that a client of v1alpha1 has requested as backends and that have not been
// found yet.
func RequestedServers(lb *lbv1.LoadBalancer) []string {
	var servers []string
	if err := json.Unmarshal([]byte(lb.Annotations[lbv1.BackendServersAnnotation]), &servers); err != nil {
		return nil // it was written by another client
	}
	return servers
}

// setRequestedServers records the requested backends; without any, it removes the annotation.
func setRequestedServers(lb *lbv1.LoadBalancer, servers []string) {
	if len(servers) == 0 {
		delete(lb.Annotations, lbv1.BackendServersAnnotation)
		return
	}
	if lb.Annotations == nil {
		lb.Annotations = map[string]string{}
	}
	data, _ := json.Marshal(servers) // strings can always be encoded
	lb.Annotations[lbv1.BackendServersAnnotation] = string(data)
}
