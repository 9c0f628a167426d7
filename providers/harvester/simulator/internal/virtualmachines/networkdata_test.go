// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package virtualmachines

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestStaticAddresses(t *testing.T) {
	g := NewWithT(t)
	const mac = "52:54:00:00:00:01"
	for text, want := range map[string][]string{
		"": nil,
		"version: 1\nconfig: [{type: physical, name: eth0, subnets: [{type: dhcp}]}]":                                                 nil,
		"version: 1\nconfig: [{type: physical, name: eth0, subnets: [{type: static, address: 10.0.0.5}]}]":                            {"10.0.0.5"},
		"version: 1\nconfig: [{type: physical, mac_address: '52:54:00:00:00:02', subnets: [{type: static, address: 10.0.0.5}]}]":      nil,
		"network: {version: 2, ethernets: {eth0: {addresses: [10.0.0.5/24, 'fd00::5/64']}}}":                                          {"10.0.0.5", "fd00::5"},
		"version: 2\nethernets: {a: {match: {macaddress: '52:54:00:00:00:01'}, addresses: [10.0.0.6/24]}, b: {addresses: [1.1.1.1]}}": {"10.0.0.6"},
	} {
		found, err := staticAddresses([]byte(text))
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(found.addressesOf(mac, 0)).To(Equal(want), text)
	}
	_, err := staticAddresses([]byte("version: 2\nethernets: {a: {addresses: [nonsense]}}"))
	g.Expect(err).To(MatchError(ContainSubstring("nonsense")))
}
