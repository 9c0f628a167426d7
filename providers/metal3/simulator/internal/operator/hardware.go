// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"hash/fnv"
	"net"

	"k8s.io/apimachinery/pkg/types"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// vendorPrefix is the prefix of the MAC addresses of simulated network cards: locally administered, and different from those of
// any hypervisor.
const vendorPrefix = "02:fa"

// StandardHardware returns a server with two network cards. The first has the host's boot MAC address and an IP address derived
// from its last three bytes.
func StandardHardware(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareDetails {
	const disk = 480 * bmov1alpha1.GigaByte
	first := firstMAC(host)
	second := append(net.HardwareAddr{}, first...)
	second[2] ^= 0x80
	return &bmov1alpha1.HardwareDetails{
		SystemVendor: bmov1alpha1.HardwareSystemVendor{
			Manufacturer: "Faultline", ProductName: "Simulated Server", SerialNumber: fmt.Sprintf("%X", []byte(first)),
		},
		Firmware:     bmov1alpha1.Firmware{BIOS: bmov1alpha1.BIOS{Vendor: "Faultline", Version: "1.0", Date: "01/01/2026"}},
		RAMMebibytes: 64 * 1024,
		NIC: []bmov1alpha1.NIC{
			{Name: "eno1", MAC: first.String(), IP: addressOf(first), Model: "0x8086 0x1572", SpeedGbps: 25, PXE: true},
			{Name: "eno2", MAC: second.String(), Model: "0x8086 0x1572", SpeedGbps: 25},
		},
		Storage: []bmov1alpha1.Storage{{
			Name: "/dev/disk/by-path/pci-0000:01:00.0-nvme-1", AlternateNames: []string{"/dev/nvme0n1"},
			Type: bmov1alpha1.NVME, SizeBytes: disk, SerialNumber: fmt.Sprintf("%X-1", []byte(first)),
		}},
		CPU:      bmov1alpha1.CPU{Arch: "x86_64", Model: "Simulated", ClockMegahertz: 2.6 * bmov1alpha1.GigaHertz, Count: 32},
		Hostname: host.Name,
	}
}

// firstMAC returns the boot MAC address, or one derived from the host's name.
func firstMAC(host *bmov1alpha1.BareMetalHost) net.HardwareAddr {
	if mac, err := net.ParseMAC(host.Spec.BootMACAddress); err == nil && len(mac) == 6 {
		return mac
	}
	hash := HostNumber(types.NamespacedName{Namespace: host.Namespace, Name: host.Name})
	return net.HardwareAddr{0x02, 0xfb, byte(hash >> 24 & 0x7f), byte(hash >> 16), byte(hash >> 8), byte(hash)}
}

func addressOf(mac net.HardwareAddr) string {
	return net.IPv4(10, mac[3], mac[4], mac[5]).String()
}

// HostNumber returns a number derived from the host's name, for values that differ between hosts and are stable over time.
func HostNumber(host types.NamespacedName) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(host.String()))
	return h.Sum64()
}

// MAC returns the MAC address of the nth host of a layout. Neither it nor the IP address derived from it ends in a zero byte.
func MAC(n int) string {
	last := n%254 + 1
	return fmt.Sprintf("%s:00:%02x:%02x:%02x", vendorPrefix, n/254>>8&0xff, n/254&0xff, last)
}
