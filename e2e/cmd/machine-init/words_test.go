// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"net"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSplitKeepsSecretsFromSystemd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	guestinfo, others := split([]string{"container=docker", "VMX_GUESTINFO=true", "VMX_GUESTINFO_USERDATA=secret", "PATH=/bin"})
	g.Expect(guestinfo).To(Equal([]string{"VMX_GUESTINFO=true", "VMX_GUESTINFO_USERDATA=secret"}))
	g.Expect(others).To(Equal([]string{"container=docker", "PATH=/bin"}))
}

func TestPodRoutes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	address := net.IPv4(172, 18, 0, 7)
	commands := routes(address)
	g.Expect(commands).To(ContainSubstring("route replace 10.245.8.0/24 via 172.18.0.8\n"))
	g.Expect(commands).NotTo(ContainSubstring("10.245.7.0"))
	g.Expect(strings.Count(commands, "\n")).To(Equal(252))
}

func TestKubeletArgumentsWithoutCloudProvider(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	address := net.IPv4(172, 18, 0, 7)
	g.Expect(kubeletArguments(address, "u-u", false)).To(And(
		ContainSubstring("--provider-id=vsphere://u-u\n"), ContainSubstring("--node-ip=172.18.0.7 "), ContainSubstring("--cloud-provider= "),
	))
	g.Expect(kubeletArguments(address, "", false)).NotTo(ContainSubstring("provider-id"))
	g.Expect(kubeletArguments(address, "", true)).To(And(Not(ContainSubstring("node-ip")), Not(ContainSubstring("cloud-provider"))))
}
