// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// FuzzAddresses computes the addresses of a Node from those that a guest reports and those in the Node's annotations.
func FuzzAddresses(f *testing.F) {
	f.Add("10.1.0.1", "fd00::1,10.1.0.2", "10.1.0.1", `["10.1.0.2"]`, "10.1.0.0/16", false)
	f.Add("::ffff:10.1.0.1", "10.1.0.1", "", `[null]`, "", false)
	f.Add("fd00::1%eth0", "fd00::1", "", "", "", false)
	f.Add("fe80::1%eth0", "127.0.0.1,0.0.0.0,224.0.0.1", ",", `{}`, "::/0", true)
	f.Fuzz(func(t *testing.T, ip, more, provided, additional, internal string, ignore bool) {
		vmi, node := instance("a", strings.Split(more, ",")...), node("n", "")
		vmi.Status.Interfaces = append(vmi.Status.Interfaces, kubevirtv1.VirtualMachineInstanceNetworkInterface{Name: "nic-1", IP: ip})
		node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: provided, additionalAnnotation: additional}
		options := AddressOptions{IgnoreProvided: ignore}
		if prefix, err := netip.ParsePrefix(internal); err == nil {
			options.Internal = []netip.Prefix{prefix}
		}
		list, err := options.Of(node, &vmi, func(string) bool { return false })
		if err != nil {
			return
		}
		known := map[string]bool{}
		inner := map[bool]int{}
		for _, a := range list {
			if a.Type == corev1.NodeHostName {
				continue
			}
			addr, err := netip.ParseAddr(a.Address)
			if err != nil || !addr.IsGlobalUnicast() || addr.Is4In6() || addr.Zone() != "" || known[a.Address] || !slices.Contains(options.reported(&vmi), addr) {
				t.Fatalf("the addresses of the Node are %v", list)
			}
			known[a.Address] = true
			if a.Type == corev1.NodeInternalIP {
				inner[addr.Is4()]++
			}
		}
		if inner[true] > 1 || inner[false] > 1 {
			t.Fatalf("the internal addresses of one family are several: %v", list)
		}
	})
}

// FuzzHostnames searches the virtual machine of a Node among guests with arbitrary hostnames.
func FuzzHostnames(f *testing.F) {
	f.Add("node-1", "node-1", "node-2")
	f.Add("a", "", "")
	f.Add("a", "a", "a")
	f.Add("a", "a\n", "A")
	f.Fuzz(func(t *testing.T, name, first, second string) {
		if name == "" {
			return // invalid name of a Node
		}
		h := &harvesterOf{
			instances: []kubevirtv1.VirtualMachineInstance{instance("vm-1"), instance("vm-2")},
			hostnames: map[string]string{"vm-1": first, "vm-2": second},
		}
		found, err := newHostnames(h).find(t.Context(), name)
		switch {
		case err != nil:
			if first != name || second != name {
				t.Fatalf("%q and %q, looked for as %q: %v", first, second, name, err)
			}
		case found != "" && h.hostnames[found] != name:
			t.Fatalf("%q is called %q", found, h.hostnames[found])
		case found == "" && (first == name || second == name):
			t.Fatalf("%q and %q, looked for as %q: none is found", first, second, name)
		}
	})
}
