// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/text"
)

// Messages of the condition Ready. Other programs parse them.
const (
	waitingForAddress = "service is waiting for external IP"
	noBackends        = "no running backend servers"
	noBackendHasIP    = "running backend servers have no IP"
	noneHealthy       = "running backend servers are not probed as healthy"
	noAvailableIP     = "no available IP"
)

// Reasons of the condition Ready of a LoadBalancer when it is false.
const (
	// reasonNoPool surfaces when no IPPool suits the LoadBalancer, or the one that it names does not exist.
	reasonNoPool = "NoPool"
	// reasonNotInScope surfaces when the scope of the IPPool does not include the LoadBalancer.
	reasonNotInScope = "NotInScope"
	// reasonExhausted surfaces when the IPPool has no free address.
	reasonExhausted = "PoolExhausted"
	// reasonModeChanged surfaces when spec.ipam was changed while an address was in use.
	reasonModeChanged = "IPAMChanged"
	// reasonForeign surfaces when another Service or EndpointSlice has the name of the LoadBalancer.
	reasonForeign = "NotOurs"
	// reasonRefused surfaces when the API server rejects the Service, or spec.ipPool is not the name of an IPPool.
	reasonRefused = "Refused"
	// reasonWaiting surfaces while the Service has no address yet.
	reasonWaiting = "WaitingForAddress"
	// reasonNoBackends surfaces when the selector matches no running virtual machine with an address.
	reasonNoBackends = "NoBackendServers"
	// reasonUnhealthy surfaces when the health check succeeds for no virtual machine.
	reasonUnhealthy = "BackendServersUnhealthy"
	// reasonDeleting surfaces while the LoadBalancer is being deleted, or the IPPool, which has holders.
	reasonDeleting = "Deleting"
	// reasonReleaseFails surfaces when the address of a LoadBalancer that is being deleted cannot be released. It is retried.
	reasonReleaseFails = "ReleaseFailed"
)

// problem is why a load balancer or a pool is not ready; zero if it is.
type problem struct{ reason, message string }

// problemOf returns why a load balancer for virtual machines with an address, a Service and these endpoints is not ready.
func problemOf(lb *lbv1.LoadBalancer, service *corev1.Service, backends []backend, to []discoveryv1.Endpoint) problem {
	address := announcedBy(service)
	switch {
	case address == "", !isDHCP(lb) && address != lb.Status.AllocatedAddress.IP:
		return problem{reasonWaiting, waitingForAddress}
	case len(backends) == 0:
		return problem{reasonNoBackends, noBackends}
	case len(to) == 0:
		return problem{reasonNoBackends, noBackendHasIP}
	case !slices.ContainsFunc(to, isReady):
		return problem{reasonUnhealthy, fmt.Sprintf("%s total:%d, healthy:0", noneHealthy, len(to))}
	}
	return problem{}
}

// setReady sets the condition. Its times change only with its content.
func setReady(lb *lbv1.LoadBalancer, why problem, now time.Time) {
	lbv1.SetReady(&lb.Status.Conditions, why.reason, text.Steady(why.message), now)
}

// ready returns the status and message of the condition, "" if it does not exist.
func ready(lb *lbv1.LoadBalancer) (corev1.ConditionStatus, string) {
	for _, c := range lb.Status.Conditions {
		if c.Type == lbv1.ReadyCondition {
			return c.Status, c.Message
		}
	}
	return "", ""
}
