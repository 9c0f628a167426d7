// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules"
)

// validateVMNetwork validates the configuration of addresses from pools.
func validateVMNetwork(config infrav1.VMNetworkConfig, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch refs := config.PoolRefs(); {
	case len(refs) == 0 && config.IPPool == nil:
		errs = append(errs, field.Required(path.Child("ipPoolRefs"), "must name at least one pool in ipPoolRefs or ipPoolRef; otherwise define a pool in ipPool"))
	case len(refs) > 0 && config.IPPool != nil:
		errs = append(errs, field.Forbidden(path.Child("ipPool"), "must not be set together with ipPoolRef or ipPoolRefs: remove it, or both of these"))
	}
	if config.IPPool != nil {
		errs = append(errs, validatePool(*config.IPPool, path.Child("ipPool"))...)
	}
	for i, ref := range config.IPPoolRefs {
		if ref == "" {
			errs = append(errs, field.Required(path.Child("ipPoolRefs").Index(i), "must name a pool; otherwise remove the item"))
		}
	}
	errs = append(errs, validateAddress(config.Gateway, path.Child("gateway"))...)
	if !isSubnetMask(config.SubnetMask) {
		errs = append(errs, field.Invalid(path.Child("subnetMask"), config.SubnetMask, "must be a subnet mask, for example 255.255.255.0"))
	}
	return append(errs, validateResolver(config.DNSServers, config.DNSSearch, path)...)
}

// validateMachineNetwork validates a machine's own addresses.
func validateMachineNetwork(spec infrav1.HarvesterMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if config := spec.NetworkConfig; config != nil {
		path := path.Child("networkConfig")
		if _, err := netip.ParseAddr(config.Address); err != nil {
			if _, err := netip.ParsePrefix(config.Address); err != nil {
				errs = append(errs, field.Invalid(path.Child("address"), config.Address, "must be an IP address, for example 172.16.3.40/24"))
			}
		}
		errs = append(errs, validateAddress(config.Gateway, path.Child("gateway"))...)
		errs = append(errs, validateResolver(config.DNSServers, config.DNSSearch, path)...)
	}
	if spec.VMNetworkConfig == nil {
		return errs
	}
	if spec.NetworkConfig != nil {
		errs = append(errs, field.Forbidden(path.Child("vmNetworkConfig"), "must not be set together with networkConfig: remove one of them"))
	}
	return append(errs, validateVMNetworkWithoutPool(*spec.VMNetworkConfig, path.Child("vmNetworkConfig"))...)
}

// validateVMNetworkWithoutPool validates the configuration of addresses from pools, and rejects ipPool: a machine or a failure domain
// cannot own a pool.
func validateVMNetworkWithoutPool(config infrav1.VMNetworkConfig, path *field.Path) field.ErrorList {
	if config.IPPool == nil {
		return validateVMNetwork(config, path)
	}
	return field.ErrorList{field.Forbidden(path.Child("ipPool"),
		"may only be set in spec.vmNetworkConfig of the HarvesterCluster: create the pool on Harvester, and name it in ipPoolRefs")}
}

// validatePool validates a pool that the controller will create.
func validatePool(pool infrav1.IPPool, path *field.Path) field.ErrorList {
	errs := validateReference(pool.VMNetwork, path.Child("vmNetwork"))
	subnet, err := netip.ParsePrefix(pool.Subnet)
	if err != nil {
		return append(errs, field.Invalid(path.Child("subnet"), pool.Subnet, "must be a subnet, for example 172.17.1.0/24"))
	}
	within := func(name, value string) netip.Addr {
		address, err := netip.ParseAddr(value)
		if err != nil || !subnet.Contains(address) {
			errs = append(errs, field.Invalid(path.Child(name), value, "must be an address in "+subnet.Masked().String()))
		}
		return address
	}
	within("gateway", pool.Gateway)
	var first, last netip.Addr
	if pool.RangeStart != "" {
		first = within("rangeStart", pool.RangeStart)
	}
	if pool.RangeEnd != "" {
		last = within("rangeEnd", pool.RangeEnd)
	}
	if first.IsValid() && last.IsValid() && last.Less(first) {
		errs = append(errs, field.Invalid(path.Child("rangeEnd"), pool.RangeEnd, "must not be before rangeStart "+pool.RangeStart))
	}
	return errs
}

func validateResolver(servers, search []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, server := range servers {
		errs = append(errs, validateAddress(server, path.Child("dnsServers").Index(i))...)
	}
	for i, domain := range search {
		if !isSearchDomain(domain) {
			errs = append(errs, field.Invalid(path.Child("dnsSearch").Index(i), domain, "must be a domain, for example example.com"))
		}
	}
	return errs
}

func validateAddress(address string, path *field.Path) field.ErrorList {
	if _, err := netip.ParseAddr(address); err != nil {
		return field.ErrorList{field.Invalid(path, address, "must be an IP address, for example 172.17.1.1")}
	}
	return nil
}

// warnVMNetwork returns warnings about a valid but surprising configuration of addresses from pools.
func warnVMNetwork(config infrav1.VMNetworkConfig, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	if config.IPPoolRef != "" && len(config.IPPoolRefs) > 0 {
		warnings = append(warnings, rules.Warning(path.Child("ipPoolRef"), "has no effect while ipPoolRefs is set; remove it, or add it there"))
	} else {
		warnings = append(warnings, warnPoolName(config.IPPoolRef, path.Child("ipPoolRef"))...)
	}
	for i, ref := range config.IPPoolRefs {
		warnings = append(warnings, warnPoolName(ref, path.Child("ipPoolRefs").Index(i))...)
	}
	return warnings
}

// warnPoolName warns about a name that a pool cannot have.
func warnPoolName(name string, path *field.Path) admission.Warnings {
	if name == "" || len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return admission.Warnings{rules.Warning(path, "%s is not a pool name, because pools have no namespace; use the name alone", name)}
}
