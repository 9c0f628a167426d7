// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// PoolAddress is an address that a pool allocated for a card. Pool providers are third-party software, so it is validated before the guest
// is configured.
type PoolAddress struct {
	// Claim is the name of the IPAddressClaim.
	Claim  string
	Device int
	ipamclusterv1.IPAddressSpec
}

// ClaimName returns the name of the claim for the address from a pool for a card, both given by index.
func ClaimName(vm string, device, pool int) string {
	return fmt.Sprintf("%s-%d-%d", vm, device, pool)
}

// ClaimNames returns the names of all claims of a virtual machine with these cards.
func ClaimNames(vm string, devices []infrav1.NetworkDeviceSpec) []string {
	var names []string
	for i := range devices {
		for j := range devices[i].AddressesFromPools {
			names = append(names, ClaimName(vm, i, j))
		}
	}
	return names
}

// NetworkWithPoolAddresses adds the addresses to the cards, and their gateways to the cards that have none. Its error joins all problems.
func NetworkWithPoolAddresses(network infrav1.NetworkSpec, given []PoolAddress) (infrav1.NetworkSpec, error) {
	network = *network.DeepCopy()
	taken := map[netip.Addr]string{}
	for i, device := range network.Devices {
		for j, text := range device.IPAddrs {
			if prefix, err := netip.ParsePrefix(text); err == nil {
				taken[prefix.Addr()] = fmt.Sprintf("spec.network.devices[%d].ipAddrs[%d]", i, j)
			}
		}
	}
	var errs []error
	for _, each := range given {
		if err := addPoolAddress(&network.Devices[each.Device], each, taken); err != nil {
			errs = append(errs, fmt.Errorf("IPAddressClaim %s has the address %s of %s %s: %w", each.Claim, each.Address, each.PoolRef.Kind, each.PoolRef.Name, err))
		}
	}
	return network, errors.Join(errs...)
}

// addPoolAddress adds one address to its card. taken maps the addresses in use to their owners.
func addPoolAddress(device *infrav1.NetworkDeviceSpec, given PoolAddress, taken map[netip.Addr]string) error {
	address, err := parsePoolAddress(given)
	if err != nil {
		return err
	}
	if other, twice := taken[address.Addr()]; twice {
		return fmt.Errorf("%s has the same address: fix the pool, then delete the Machine", other)
	}
	taken[address.Addr()] = "IPAddressClaim " + given.Claim
	if err := addGateway(device, given, address); err != nil {
		return err
	}
	device.IPAddrs = append(slices.Clip(device.IPAddrs), address.String())
	return nil
}

func parsePoolAddress(given PoolAddress) (netip.Prefix, error) {
	address, err := netip.ParseAddr(given.Address)
	switch {
	case err != nil:
		return netip.Prefix{}, errors.New("which is not an IP address: fix the pool, then delete the Machine")
	case given.Prefix == nil || *given.Prefix <= 0:
		return netip.Prefix{}, errors.New("without the prefix length of its subnet: fix the pool, then delete the Machine")
	case int(*given.Prefix) > address.BitLen():
		return netip.Prefix{}, fmt.Errorf("with prefix length %d, which must be at most %d: fix the pool, then delete the Machine", *given.Prefix, address.BitLen())
	}
	return netip.PrefixFrom(address, int(*given.Prefix)), nil
}

// addGateway sets the gateway of the address. It must equal the gateway of the card and of the other addresses of the same IP
// family. A pool may have no gateway.
func addGateway(device *infrav1.NetworkDeviceSpec, given PoolAddress, address netip.Prefix) error {
	if given.Gateway == "" {
		return nil
	}
	gateway, err := netip.ParseAddr(given.Gateway)
	switch {
	case err != nil:
		return fmt.Errorf("with gateway %s, which is not an IP address: fix the pool, then delete the Machine", given.Gateway)
	case gateway.Is4() != address.Addr().Is4():
		return fmt.Errorf("with gateway %s, which is of the other IP family: fix the pool, then delete the Machine", gateway)
	case gateway == address.Addr():
		return errors.New("which is also its gateway: remove it from the pool, then delete the Machine")
	case !reaches(address, gateway):
		return fmt.Errorf("with gateway %s, which is outside its subnet %s: fix the pool, then delete the Machine", gateway, address.Masked())
	}
	field, known := "gateway4", &device.Gateway4
	if gateway.Is6() {
		field, known = "gateway6", &device.Gateway6
	}
	if other, err := netip.ParseAddr(*known); *known != "" && (err != nil || other != gateway) {
		return fmt.Errorf("with gateway %s, but %s of the card is %s, from its device or another pool: all addresses of a card must have the same gateway; use another pool or another card",
			gateway, field, *known)
	}
	*known = given.Gateway
	return nil
}

// reaches reports whether a machine with the address can reach the gateway: the gateway is in the subnet or link-local, or the
// address is alone in its subnet, so that the route to the gateway is configured elsewhere.
func reaches(address netip.Prefix, gateway netip.Addr) bool {
	return address.Contains(gateway) || gateway.IsLinkLocalUnicast() || address.IsSingleIP()
}
