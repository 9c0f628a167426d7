// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
)

// id returns the holder id of a load balancer in pools.
func id(lb *lbv1.LoadBalancer) string { return lb.Namespace + "/" + lb.Name }

func isDHCP(lb *lbv1.LoadBalancer) bool { return lb.Spec.IPAM == lbv1.IPAMDHCP }

func isForVMs(lb *lbv1.LoadBalancer) bool { return lb.Spec.WorkloadType != lbv1.WorkloadCluster }

// modeChanged returns why the load balancer cannot change the source of its address, or "". The webhook rejects such changes; the
// controller checks it in case the webhook is bypassed.
func modeChanged(lb *lbv1.LoadBalancer) string {
	has := lb.Status.AllocatedAddress
	switch {
	case isDHCP(lb) && has.IPPool != "":
		return fmt.Sprintf("spec.ipam was changed to dhcp, but the load balancer has address %s of IPPool %s and keeps it: "+
			"set it back to pool, or create another load balancer", has.IP, has.IPPool)
	case !isDHCP(lb) && has.IPPool == "" && has.IP == lbv1.UnspecifiedAddress:
		return "spec.ipam was changed to pool, but the load balancer has its address from a DHCP server and keeps it: " +
			"set it back to dhcp, or create another load balancer"
	}
	return ""
}

// requirement returns the requirements for the pool of a load balancer that names none.
func requirement(lb *lbv1.LoadBalancer) ippools.Requirement {
	return ippools.Requirement{
		Network: lb.Annotations[lbv1.NetworkAnnotation], Project: lb.Annotations[lbv1.ProjectAnnotation],
		Namespace: cmp.Or(lb.Annotations[lbv1.NamespaceAnnotation], lb.Namespace), Cluster: lb.Annotations[lbv1.ClusterAnnotation],
		VLAN: lb.Labels[lbv1.VLANLabel], WorkloadCluster: !isForVMs(lb),
	}
}

// needsAddress reports whether a load balancer needs an address from a pool: it has none, or one of another pool than it names, or
// one of a pool that is not for it.
func needsAddress(lb *lbv1.LoadBalancer) bool {
	has := lb.Status.AllocatedAddress
	outside := slices.ContainsFunc(lb.Status.Conditions, func(c lbv1.Condition) bool { return c.Reason == reasonNotInScope })
	return lb.DeletionTimestamp.IsZero() && !isDHCP(lb) && (outside || has.IPPool == "" || lb.Spec.IPPool != "" && lb.Spec.IPPool != has.IPPool)
}

// allocated converts an address for the status.
func allocated(claimed ipam.Claimed) lbv1.AllocatedAddress {
	a := lbv1.AllocatedAddress{IPPool: claimed.Pool, IP: claimed.IP.String()}
	if claimed.Subnet.IsValid() {
		a.Mask = net.IP(net.CIDRMask(claimed.Subnet.Bits(), claimed.Subnet.Addr().BitLen())).String()
	}
	if claimed.Gateway.IsValid() {
		a.Gateway = claimed.Gateway.String()
	}
	return a
}

func setClaims(lb *lbv1.LoadBalancer, pools []string) {
	if len(pools) == 0 {
		delete(lb.Annotations, lbv1.ClaimsAnnotation)
		return
	}
	if lb.Annotations == nil {
		lb.Annotations = map[string]string{}
	}
	slices.Sort(pools)
	lb.Annotations[lbv1.ClaimsAnnotation] = strings.Join(slices.Compact(pools), ",")
}

// possiblePools returns all pools in which the load balancer may hold an address.
func possiblePools(lb *lbv1.LoadBalancer) []string {
	pools := ipam.Claims(lb)
	if has := lb.Status.AllocatedAddress.IPPool; has != "" && !slices.Contains(pools, has) {
		pools = append(pools, has)
	}
	return pools
}

// setAddress sets the address in the status. An address of another pool that it replaces must still be released.
func setAddress(lb *lbv1.LoadBalancer, address lbv1.AllocatedAddress) {
	before := possiblePools(lb)
	lb.Status.AllocatedAddress = address
	setClaims(lb, slices.DeleteFunc(before, func(pool string) bool { return pool == address.IPPool }))
}

// releasablePools returns the pools whose addresses can be released, because the address in the status is announced. The Service,
// which may be nil, or the cloud provider of the guest cluster, which writes status.address, reports that. wanted is the pool that
// the load balancer must have an address of.
func releasablePools(lb *lbv1.LoadBalancer, service *corev1.Service, wanted string) []string {
	announced := lb.Status.Address
	if isForVMs(lb) {
		announced = announcedBy(service)
	}
	if announced == "" || announced != lb.Status.AllocatedAddress.IP {
		return nil
	}
	return slices.DeleteFunc(ipam.Claims(lb), func(pool string) bool { return pool == wanted })
}

// announcedBy returns the address in the status of a Service, or "".
func announcedBy(service *corev1.Service) string {
	if service == nil || len(service.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	return service.Status.LoadBalancer.Ingress[0].IP
}
