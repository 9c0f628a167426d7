// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer

import (
	"net/netip"
	"slices"

	kubevirtv1 "kubevirt.io/api/core/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// NeedsPool reports whether a load balancer has an address without naming its pool.
func NeedsPool(lb *lbv1.LoadBalancer) bool {
	return lb.Spec.IPAM != lbv1.IPAMDHCP && lb.Status.AllocatedAddress.IP != "" && lb.Status.AllocatedAddress.IPPool == ""
}

// Complete resolves what a load balancer of v1alpha1 expresses differently: the pool of its address, and the machines that have the
// addresses of its backends. It reports whether the load balancer has changed. Controllers must call it before anything else, with all
// pools if NeedsPool, and with the machines of its namespace if there are RequestedServers. They must store a change before they allocate
// an address. Anything that is not found stays unchanged.
func Complete(lb *lbv1.LoadBalancer, pools []lbv1.IPPool, machines []kubevirtv1.VirtualMachineInstance) bool {
	changed := false
	if NeedsPool(lb) {
		changed = completePool(lb, pools)
	}
	return completeSelector(lb, machines) || changed
}

// completePool sets the pool that records the load balancer as holder of its address: a current or, after a migration, a former one.
func completePool(lb *lbv1.LoadBalancer, pools []lbv1.IPPool) bool {
	holder := lb.Namespace + "/" + lb.Name
	for _, in := range []func(lbv1.IPPoolStatus) map[string]string{
		func(s lbv1.IPPoolStatus) map[string]string { return s.Allocated },
		func(s lbv1.IPPoolStatus) map[string]string { return s.AllocatedHistory },
	} {
		for i := range pools {
			if isHolder(in(pools[i].Status), lb.Status.AllocatedAddress.IP, holder) {
				lb.Spec.IPPool, lb.Status.AllocatedAddress.IPPool = pools[i].Name, pools[i].Name
				return true
			}
		}
	}
	return false
}

// isHolder reports whether the address is recorded for the holder, in any spelling.
func isHolder(held map[string]string, address, holder string) bool {
	if held[address] == holder {
		return true
	}
	wanted, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	for given, id := range held {
		if addr, err := netip.ParseAddr(given); id == holder && err == nil && addr.Unmap() == wanted.Unmap() {
			return true
		}
	}
	return false
}

// completeSelector selects the requested machines by their names, as Harvester labels them. Addresses that no machine has yet remain
// requested.
func completeSelector(lb *lbv1.LoadBalancer, machines []kubevirtv1.VirtualMachineInstance) bool {
	var missing []string
	asked := RequestedServers(lb)
	for _, server := range asked {
		at := slices.IndexFunc(machines, func(machine kubevirtv1.VirtualMachineInstance) bool {
			return machine.Namespace == lb.Namespace && machine.Labels[infrav1.VMNameLabel] != "" && reachedAt(&machine, server)
		})
		if at < 0 {
			missing = append(missing, server)
			continue
		}
		names := lb.Spec.BackendServerSelector[infrav1.VMNameLabel]
		if name := machines[at].Labels[infrav1.VMNameLabel]; !slices.Contains(names, name) {
			if lb.Spec.BackendServerSelector == nil {
				lb.Spec.BackendServerSelector = map[string][]string{}
			}
			lb.Spec.BackendServerSelector[infrav1.VMNameLabel] = append(names, name)
		}
		if !slices.Contains(lb.Status.BackendServers, server) {
			lb.Status.BackendServers = append(lb.Status.BackendServers, server)
		}
	}
	if len(missing) == len(asked) {
		return false
	}
	setRequestedServers(lb, missing)
	return true
}

func reachedAt(machine *kubevirtv1.VirtualMachineInstance, address string) bool {
	return slices.ContainsFunc(machine.Status.Interfaces, func(i kubevirtv1.VirtualMachineInstanceNetworkInterface) bool {
		return i.IP == address || slices.Contains(i.IPs, address)
	})
}

// CarryOver restores fields that v1alpha1 cannot express when a client of v1alpha1 has replaced the load balancer without the annotation
// that keeps them.
func CarryOver(before, after *lbv1.LoadBalancer) {
	if after.Spec.WorkloadType == "" {
		after.Spec.WorkloadType = before.Spec.WorkloadType
	}
	if after.Spec.IPPool == "" {
		after.Spec.IPPool = before.Spec.IPPool
	}
	if after.Status.AllocatedAddress.IPPool == "" {
		after.Status.AllocatedAddress = before.Status.AllocatedAddress
	}
	if asked := RequestedServers(after); len(asked) > 0 && slices.Equal(asked, backendServers(before)) {
		after.Spec.BackendServerSelector, after.Status.BackendServers = before.Spec.BackendServerSelector, before.Status.BackendServers
		setRequestedServers(after, RequestedServers(before))
	}
}
