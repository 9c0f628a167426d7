// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
)

func given(device int, claim, address string, prefix int32, gateway string) virtualmachine.PoolAddress {
	return virtualmachine.PoolAddress{Claim: claim, Device: device, IPAddressSpec: ipamclusterv1.IPAddressSpec{
		PoolRef: ipamclusterv1.IPPoolReference{Kind: "Pool", Name: "p"}, Address: address, Prefix: ptr.To(prefix), Gateway: gateway,
	}}
}

func network(devices ...infrav1.NetworkDeviceSpec) infrav1.NetworkSpec {
	return infrav1.NetworkSpec{Devices: devices}
}

func TestPoolAddressesAreAddedToDevice(t *testing.T) {
	t.Parallel()
	type device = infrav1.NetworkDeviceSpec
	for name, tc := range map[string]struct {
		devices []device
		given   []virtualmachine.PoolAddress
		want    []device
	}{
		"none": {[]device{{DHCP4: ptr.To(true)}}, nil, []device{{DHCP4: ptr.To(true)}}},
		"an address with its gateway": {
			[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "10.0.0.1")},
			[]device{{IPAddrs: []string{"10.0.0.5/24"}, Gateway4: "10.0.0.1"}},
		},
		"both IP versions": {
			[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "10.0.0.1"), given(0, "vm-0-1", "2001:db8::5", 64, "fe80::1")},
			[]device{{IPAddrs: []string{"10.0.0.5/24", "2001:db8::5/64"}, Gateway4: "10.0.0.1", Gateway6: "fe80::1"}},
		},
		"the card's own stay, and its gateway where the pool has none": {
			[]device{{IPAddrs: []string{"10.0.0.4/24"}, Gateway4: "10.0.0.1"}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "")},
			[]device{{IPAddrs: []string{"10.0.0.4/24", "10.0.0.5/24"}, Gateway4: "10.0.0.1"}},
		},
		"no gateway at all":            {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "")}, []device{{IPAddrs: []string{"10.0.0.5/24"}}}},
		"each to its card":             {[]device{{}, {}}, []virtualmachine.PoolAddress{given(1, "vm-1-0", "10.0.0.5", 24, "")}, []device{{}, {IPAddrs: []string{"10.0.0.5/24"}}}},
		"alone in its subnet":          {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 32, "10.9.0.1")}, []device{{IPAddrs: []string{"10.0.0.5/32"}, Gateway4: "10.9.0.1"}}},
		"one gateway of two addresses": {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "10.0.0.1"), given(0, "vm-0-1", "10.0.0.6", 24, "10.0.0.1")}, []device{{IPAddrs: []string{"10.0.0.5/24", "10.0.0.6/24"}, Gateway4: "10.0.0.1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			own := network(tc.devices...)
			before := own.DeepCopy()
			got, err := virtualmachine.NetworkWithPoolAddresses(own, tc.given)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Devices).To(Equal(tc.want))
			g.Expect(own).To(Equal(*before), "the specification of the machine is not changed")
		})
	}
}

func TestInvalidPoolAddresses(t *testing.T) {
	t.Parallel()
	type device = infrav1.NetworkDeviceSpec
	noPrefix := given(0, "vm-0-0", "10.0.0.5", 0, "")
	noPrefix.Prefix = nil
	for name, tc := range map[string]struct {
		devices []device
		given   []virtualmachine.PoolAddress
		want    []string
	}{
		"no address":       {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "ten", 24, "")}, []string{"IPAddressClaim vm-0-0 has the address ten of Pool p: which is not an IP address"}},
		"no prefix":        {[]device{{}}, []virtualmachine.PoolAddress{noPrefix}, []string{"without the prefix length of its subnet"}},
		"prefix too large": {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 64, "")}, []string{"with prefix length 64, which must be at most 32"}},
		"twice on a card": {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, ""), given(0, "vm-0-1", "10.0.0.5", 16, "")},
			[]string{"IPAddressClaim vm-0-1 has the address 10.0.0.5 of Pool p: IPAddressClaim vm-0-0 has the same address"}},
		"twice on two cards": {[]device{{}, {}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, ""), given(1, "vm-1-0", "10.0.0.5", 24, "")},
			[]string{"IPAddressClaim vm-0-0 has the same address"}},
		"the card's own": {[]device{{}, {IPAddrs: []string{"10.0.0.5/24"}}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "")},
			[]string{"spec.network.devices[1].ipAddrs[0] has the same address"}},
		"gateway of the other IP family": {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "fe80::1")}, []string{"with gateway fe80::1, which is of the other IP family"}},
		"invalid gateway":                {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "router")}, []string{"with gateway router, which is not an IP address"}},
		"gateway outside of the subnet":  {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "10.0.1.1")}, []string{"with gateway 10.0.1.1, which is outside its subnet 10.0.0.0/24"}},
		"the gateway's own address":      {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.1", 24, "10.0.0.1")}, []string{"which is also its gateway"}},
		"another gateway than the card":  {[]device{{Gateway4: "10.0.0.2"}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "10.0.0.5", 24, "10.0.0.1")}, []string{"with gateway 10.0.0.1, but gateway4 of the card is 10.0.0.2"}},
		"two gateways of one IP family": {[]device{{}}, []virtualmachine.PoolAddress{given(0, "vm-0-0", "2001:db8::5", 64, "2001:db8::1"), given(0, "vm-0-1", "2001:db8::6", 64, "fe80::1")},
			[]string{"with gateway fe80::1, but gateway6 of the card is 2001:db8::1"}},
		"all of them": {[]device{{}}, []virtualmachine.PoolAddress{noPrefix, given(0, "vm-0-1", "ten", 24, "")}, []string{"without the prefix length", "which is not an IP address"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := virtualmachine.NetworkWithPoolAddresses(network(tc.devices...), tc.given)
			for _, want := range tc.want {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
			}
		})
	}
}

func TestClaimNames(t *testing.T) {
	t.Parallel()
	pools := make([]infrav1.IPPoolReference, 2)
	NewWithT(t).Expect(virtualmachine.ClaimNames("vm", []infrav1.NetworkDeviceSpec{{AddressesFromPools: pools}, {}, {AddressesFromPools: pools[:1]}})).
		To(Equal([]string{"vm-0-0", "vm-0-1", "vm-2-0"}))
}
