// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"strings"
)

// guestinfoPrefix is the prefix of the environment variables in which the simulated vCenter passes the guestinfo to a machine's
// container.
const guestinfoPrefix = "VMX_GUESTINFO"

// split separates the guestinfo from an environment: it contains secrets, which all programs that systemd starts would inherit.
func split(environment []string) (guestinfo, others []string) {
	for _, variable := range environment {
		if strings.HasPrefix(variable, guestinfoPrefix) {
			guestinfo = append(guestinfo, variable)
		} else {
			others = append(others, variable)
		}
	}
	return guestinfo, others
}

// kubeletArguments returns the arguments that a kubelet needs in a container and, without an external cloud provider, those that a cloud
// provider would supply. They follow kubeadm's arguments and override them.
func kubeletArguments(address net.IP, uuid string, external bool) string {
	arguments := []string{
		"--runtime-cgroups=/system.slice/containerd.service",
		"--fail-cgroupv1=false",
		"--cgroup-root=/kubelet",
		// The disk is the host's: its usage is unrelated to this machine.
		"--image-gc-high-threshold=100",
		"--eviction-hard=nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%",
	}
	if !external {
		arguments = append(arguments, "--node-ip="+address.String(), "--cloud-provider=")
	}
	if uuid != "" {
		arguments = append(arguments, "--provider-id=vsphere://"+uuid)
	}
	return "KUBELET_EXTRA_ARGS=" + strings.Join(arguments, " ") + "\n"
}

// podSubnet returns the subnet of the machine's pods. The last byte of the machine's address makes it unique in a Docker network with
// fewer than 250 containers.
func podSubnet(last byte) string { return fmt.Sprintf("10.245.%d.0/24", last) }

// routes returns commands for ip that route the pods of every possible other machine via that machine.
func routes(address net.IP) string {
	var commands strings.Builder
	own := address.To4()
	for last := byte(2); last < 255; last++ {
		if last != own[3] {
			via := net.IPv4(own[0], own[1], own[2], last)
			_, _ = fmt.Fprintf(&commands, "route replace %s via %s\n", podSubnet(last), via)
		}
	}
	return commands.String()
}
