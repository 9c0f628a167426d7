// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"strings"
)

// guestinfoPrefix is what the simulated vCenter gives the guestinfo of a machine in
// the environment of its container.
const guestinfoPrefix = "VMX_GUESTINFO"

// split takes the guestinfo out of an environment: it has secrets, and whatever is
// started by systemd would inherit them.
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

// kubeletArguments are those that a kubelet needs in a container and, if it has no external one, what a cloud provider would tell it. They
// come after kubeadm's and win.
func kubeletArguments(address net.IP, uuid string, external bool) string {
	arguments := []string{
		"--runtime-cgroups=/system.slice/containerd.service",
		"--fail-cgroupv1=false",
		"--cgroup-root=/kubelet",
		// The disk is the host's: how full it is says nothing about this machine.
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

// podSubnet is that of the machine's pods: the last byte of its address makes it
// unique among the machines of a Docker network with less than 250 containers.
func podSubnet(last byte) string { return fmt.Sprintf("10.245.%d.0/24", last) }

// conflist is the configuration of the network plugins.
func conflist(address net.IP) string {
	return fmt.Sprintf(`{"cniVersion":"1.0.0","name":"ptp","plugins":[
{"type":"ptp","ipMasq":true,"mtu":1500,"ipam":{"type":"host-local","dataDir":"/run/cni-ipam-state",
"routes":[{"dst":"0.0.0.0/0"}],"ranges":[[{"subnet":%q}]]}},
{"type":"portmap","capabilities":{"portMappings":true}}]}
`, podSubnet(address.To4()[3]))
}

// routes are commands for ip: each of the other machines there may ever be is the way
// to its pods.
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
