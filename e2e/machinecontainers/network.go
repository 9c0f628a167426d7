// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machinecontainers

import (
	"fmt"
	"net"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	netutils "k8s.io/utils/net"
)

// DynamicRange returns the part of a subnet that Docker may assign: its first 256 addresses. The next 256 belong to hosts.
func DynamicRange(subnet *net.IPNet) *net.IPNet {
	return &net.IPNet{IP: subnet.IP, Mask: net.CIDRMask(24, 32)}
}

// address returns the host's address. It is derived from the last byte of the MAC address, which the simulator's layouts number
// consecutively, so it does not depend on what runs on the host.
func (c HostContainers) address(host *bmov1alpha1.BareMetalHost) (net.IP, error) {
	hardware, err := net.ParseMAC(host.Spec.BootMACAddress)
	if err != nil || len(hardware) != 6 || hardware[4] != 0 || hardware[5] == 0 || hardware[5] == 255 {
		return nil, fmt.Errorf("host %s has boot MAC address %q: the last but one byte of a booting host must be 0, and the last its number from 1 to 254",
			host.Name, host.Spec.BootMACAddress)
	}
	return netutils.GetIndexedIP(c.Subnet, 256+int(hardware[5]))
}
