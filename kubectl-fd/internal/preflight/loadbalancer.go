// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/validation"
)

const (
	// ConfigMapName is the name of the ConfigMaps that held addresses before IPPools existed.
	ConfigMapName = "kubevip"
	// converted on such a ConfigMap is the annotation that it has been converted.
	converted = LoadBalancerGroup + "/after-conversion"
	// onNetwork on a LoadBalancer is the annotation that names its network.
	onNetwork = LoadBalancerGroup + "/network"
)

// loadBalancer returns the provider of addresses on Harvester. It runs there, not in the management cluster.
func loadBalancer() Provider {
	return Provider{
		Name: "harvester-load-balancer", Group: LoadBalancerGroup, Standalone: true,
		Lease: "harvester-load-balancer", LeaseNamespace: "kube-system", served: []string{"v1beta1", "v1alpha1"},
		Kinds: []string{"IPPool", "LoadBalancer"},
		Related: []schema.GroupKind{
			{Kind: "ConfigMap"}, {Group: "kubevirt.io", Kind: "VirtualMachine"}, {Group: "kubevirt.io", Kind: "VirtualMachineInstance"},
		},
		rules: []func(*examination){
			refused(validation.WrittenLoadBalancers), overlappingPools, allocations, networks, dhcpPools, kubeVIP, finalizers,
		},
	}
}

// overlappingPools finds pools that overlap with others: upstream's webhook can miss those that are created concurrently.
func overlappingPools(e *examination) {
	pools := make([]lbv1.IPPool, len(e.Objects["IPPool"]))
	for i := range pools {
		pools[i] = as[lbv1.IPPool](&e.Objects["IPPool"][i])
	}
	for i := range pools {
		for _, wrong := range validation.PoolObstacles(&pools[i], pools) {
			e.aboutField(&e.Objects["IPPool"][i], wrong.Field, Stops, "Pools", wrong.ErrorBody()+"; the pool, which is the newer one, allocates no addresses until then")
		}
		for _, wrong := range validation.PoolUnclear(&pools[i], pools) {
			e.aboutField(&e.Objects["IPPool"][i], wrong.Field, Check, "Pools", wrong.ErrorBody()+
				"; a load balancer that names neither gets its address from the first pool by name, while upstream's choice is random")
		}
	}
}

// allocations compares the addresses in pools with those that load balancers report.
func allocations(e *examination) {
	shown := map[string]string{}
	for i := range e.Objects["LoadBalancer"] {
		lb := &e.Objects["LoadBalancer"][i]
		shown[lb.GetNamespace()+"/"+lb.GetName()] = text(lb, "status", "allocatedAddress", "ip")
		if verdict, message := e.allocatedAddress(lb); message != "" {
			e.aboutField(lb, "status.allocatedAddress", verdict, "Addresses", message)
		}
	}
	for i := range e.Objects["IPPool"] {
		pool := &e.Objects["IPPool"][i]
		held := as[map[string]string](pool, "status", "allocated")
		for _, ip := range slices.Sorted(maps.Keys(held)) {
			if was := shown[held[ip]]; was != ip && was != "" {
				e.aboutField(pool, "status.allocated["+ip+"]", Changes, "Addresses", fmt.Sprintf("belongs to LoadBalancer %s, whose status has %s: the address in its status is allocated to it when the new manager starts", held[ip], was))
			}
		}
	}
}

// allocatedAddress returns what happens to the address that a load balancer reports.
func (e *examination) allocatedAddress(lb *unstructured.Unstructured) (Verdict, string) {
	of, ip := text(lb, "status", "allocatedAddress", "ipPool"), text(lb, "status", "allocatedAddress", "ip")
	if of == "" || ip == "" || ip == "0.0.0.0" {
		return "", ""
	}
	pool := e.object("IPPool", of)
	if pool == nil {
		return Check, fmt.Sprintf("IPPool %s, which allocated %s, does not exist: the load balancer keeps the address, but no pool records it; create the pool again", of, ip)
	}
	switch holder := as[map[string]string](pool, "status", "allocated")[ip]; holder {
	case lb.GetNamespace() + "/" + lb.GetName():
		return "", ""
	case "":
		return Changes, fmt.Sprintf("IPPool %s does not record its address %s: the new manager adds it when it starts", of, ip)
	default:
		return Stops, fmt.Sprintf("IPPool %s records that %s belongs to %s: one of the two would get another address; recreate the load balancer whose address may change", of, ip, holder)
	}
}

// networks finds addresses that the global pool has assigned for a network of its own: they are kept, but not assigned again.
func networks(e *examination) {
	e.each(Check, "Networks", func(lb *unstructured.Unstructured) string {
		network, of := lb.GetAnnotations()[onNetwork], text(lb, "status", "allocatedAddress", "ipPool")
		pool := e.object("IPPool", of)
		if network == "" || pool == nil || text(lb, "spec", "ipPool") != "" {
			return ""
		}
		given := as[lbv1.IPPool](pool)
		on := given.Spec.Selector.Network
		if !validation.IsGlobalPool(&given) || on == "" || on == network || on == lb.GetNamespace()+"/"+network {
			return ""
		}
		return fmt.Sprintf("it is on network %s and has an address of the global IPPool %s, which is for %s: it keeps the address, but a new load balancer would wait; create a pool for the network, or name this one in spec.ipPool",
			network, of, on)
	}, "LoadBalancer")
}

// dhcpPools finds pool references without effect.
func dhcpPools(e *examination) {
	e.each(Changes, "Pools", func(lb *unstructured.Unstructured) string {
		if pool := text(lb, "spec", "ipPool"); pool != "" && text(lb, "spec", "ipam") == "dhcp" {
			return fmt.Sprintf("spec.ipPool %s has no effect with ipam dhcp", pool)
		}
		return ""
	}, "LoadBalancer")
}

// kubeVIP checks the ConfigMap from before IPPools existed.
func kubeVIP(e *examination) {
	e.each(Check, "ConfigMap", func(config *unstructured.Unstructured) string {
		if config.GetNamespace() != "kube-system" || config.GetName() != ConfigMapName || config.GetAnnotations()[converted] == "true" {
			return ""
		}
		var pools, left []string
		for _, key := range slices.Sorted(maps.Keys(as[map[string]string](config, "data"))) {
			format, name, _ := strings.Cut(key, "-")
			switch {
			case slices.Contains([]string{"kubevip-services", "search-order", "skip-end-ips-in-cidr", "allow-share", "interface"}, key):
			case name != "" && (format == "cidr" || format == "range"):
				pools = append(pools, name)
			default:
				left = append(left, key)
			}
		}
		slices.Sort(pools)
		message := fmt.Sprintf("it is converted to the IPPools %s when the new manager starts, and no address is allocated before that; existing pools with such a name stay unchanged",
			strings.Join(slices.Compact(pools), ", "))
		if len(left) > 0 {
			message += fmt.Sprintf("; its keys %s are skipped, because they are neither cidr-<namespace> nor range-<namespace>", strings.Join(left, ", "))
		}
		return message
	}, "ConfigMap")
}

// finalizers reports which of upstream's finalizers are removed, and which are kept.
func finalizers(e *examination) {
	for _, kind := range []string{"VirtualMachine", "VirtualMachineInstance"} {
		n := 0
		for i := range e.Objects[kind] {
			if slices.ContainsFunc(e.Objects[kind][i].GetFinalizers(), func(f string) bool { return strings.HasPrefix(f, "wrangler.cattle.io/harvester-lb-vm") }) {
				n++
			}
		}
		if n > 0 {
			e.ofAll(kind, Changes, "Finalizers", fmt.Sprintf("the finalizer of upstream's load balancer is removed from %d of them, because it is not needed", n))
		}
	}
}
