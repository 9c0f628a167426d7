// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer

import (
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Address returns the announced address of a load balancer, or "". service may be nil.
func Address(lb *lbv1.LoadBalancer, service *corev1.Service) string {
	if announced := lb.Status.Address; announced != "" && announced != lbv1.UnspecifiedAddress {
		return announced
	}
	if service == nil || len(service.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	return service.Status.LoadBalancer.Ingress[0].IP
}

// Condition returns the condition of a load balancer without a type. endpoint is the endpoint that the cluster has published, if any;
// pool is the pool of its address, or nil for DHCP.
func Condition(endpoint infrav1.APIEndpoint, lb *lbv1.LoadBalancer, service *corev1.Service, pool *lbv1.IPPool) metav1.Condition {
	address := Address(lb, service)
	switch {
	case address == "":
		return waiting(lb, pool)
	case endpoint.IsSet() && net.ParseIP(endpoint.Host) != nil && endpoint.Host != address:
		return notReady(infrav1.LoadBalancerAddressChangedReason, fmt.Sprintf(
			"load balancer %s/%s has the address %s, but the endpoint of the cluster is %s and cannot change: assign that address to the load balancer again, "+
				"for example with a DHCP lease or an IPPool that contains only that address", lb.Namespace, lb.Name, address, endpoint.Host))
	case len(lb.Status.BackendServers) == 0:
		return notReady(infrav1.LoadBalancerNoBackendMachineReason, fmt.Sprintf(
			"load balancer %s/%s has no backends, because no machine of the control plane is running with an address", lb.Namespace, lb.Name))
	case !isReady(lb):
		return notReady(infrav1.LoadBalancerHealthcheckFailedReason, fmt.Sprintf(
			"load balancer %s/%s: %s: check the machines of the control plane", lb.Namespace, lb.Name, reportedReason(lb)))
	default:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.LoadBalancerReadyReason}
	}
}

func waiting(lb *lbv1.LoadBalancer, pool *lbv1.IPPool) metav1.Condition {
	where := fmt.Sprintf("load balancer %s/%s", lb.Namespace, lb.Name)
	switch {
	case lb.Status.AllocatedAddress.IP == "" && pool != nil && pool.Status.Total > 0 && pool.Status.Available <= 0:
		return notReady(infrav1.VMIPPoolExhaustedReason, fmt.Sprintf("%s waits for an address: IPPool %s has no free address of %d: add a range to it, or release an address",
			where, pool.Name, pool.Status.Total))
	case len(lb.Status.Conditions) == 0:
		return notReady(infrav1.WaitingForLoadBalancerAddressReason, where+
			" waits for Harvester to process it: if that persists, check the Deployment harvester-load-balancer in namespace harvester-system on Harvester")
	default:
		return notReady(infrav1.WaitingForLoadBalancerAddressReason, fmt.Sprintf(
			"%s waits for an address: %s: if that persists, check the pool or the DHCP server of the network, and kube-vip on Harvester", where, reportedReason(lb)))
	}
}

func notReady(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func isReady(lb *lbv1.LoadBalancer) bool {
	return slices.ContainsFunc(lb.Status.Conditions, func(c lbv1.Condition) bool {
		return c.Type == lbv1.ReadyCondition && c.Status == corev1.ConditionTrue
	})
}

// reportedReason returns the message of Harvester for a load balancer that is not ready.
func reportedReason(lb *lbv1.LoadBalancer) string {
	for _, c := range lb.Status.Conditions {
		if c.Type == lbv1.ReadyCondition && c.Message != "" {
			return "Harvester reports " + c.Message
		}
	}
	return "Harvester reports no reason"
}
