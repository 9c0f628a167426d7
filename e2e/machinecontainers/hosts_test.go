// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package machinecontainers

import (
	"net"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

func subnet(t *testing.T, text string) *net.IPNet {
	t.Helper()
	_, parsed, err := net.ParseCIDR(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return parsed
}

func TestHostAddresses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := HostContainers{Subnet: subnet(t, "192.168.16.0/20")}
	seen := map[string]bool{}
	dynamic := DynamicRange(c.Subnet)
	g.Expect(dynamic.String()).To(Equal("192.168.16.0/24"))
	hosts := simulator.Racks(3, 80).Hosts("default")
	for i := range hosts {
		address, err := c.address(&hosts[i])
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(dynamic.Contains(address)).To(BeFalse())
		g.Expect(address.String()).To(HavePrefix("192.168.17."))
		g.Expect(seen).NotTo(HaveKey(address.String()))
		seen[address.String()] = true
		g.Expect(c.Inventory(&hosts[i]).NIC[0].IP).To(Equal(address.String()))
	}
}

func TestHostBootErrors(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := HostContainers{Subnet: subnet(t, "172.18.0.0/16")}
	host := &bmov1alpha1.BareMetalHost{}
	for _, mac := range []string{"", "nonsense", "02:fa:00:00:01:02", "02:fa:00:00:00:00"} {
		host.Spec.BootMACAddress = mac
		_, err := c.address(host)
		g.Expect(err).To(MatchError(ContainSubstring("boot MAC address")), mac)
	}
	host.Spec.BootMACAddress = "02:fa:00:00:00:02"
	_, err := (HostContainers{Subnet: subnet(t, "172.18.0.0/24")}).address(host)
	g.Expect(err).To(MatchError(ContainSubstring("too small")))

	for _, image := range []*bmov1alpha1.Image{nil, {URL: "https://images.example.com/node.qcow2"}} {
		host.Spec.Image = image
		_, err := imageOf(host)
		g.Expect(err).To(MatchError(ContainSubstring("oci://")))
	}
	host.Spec.Image = &bmov1alpha1.Image{URL: "oci://faultline/machine:v1"}
	g.Expect(imageOf(host)).To(Equal("faultline/machine:v1"))
}

func TestDrive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	content := func(files []docker.File) map[string]string {
		all := map[string]string{}
		for _, file := range files {
			all[file.Path] = string(file.Content)
		}
		return all
	}
	files, err := drive(simulator.Boot{UserData: []byte("#cloud-config\n"), MetaData: map[string]any{"name": "m"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(content(files)).To(Equal(map[string]string{
		"/etc/cloud/cloud.cfg.d/99-source.cfg":          "datasource_list: [ ConfigDrive ]\n",
		"/config-drive/openstack/latest/meta_data.json": `{"name":"m"}`,
		"/config-drive/openstack/latest/user_data":      "#cloud-config\n",
	}))
	files, err = drive(simulator.Boot{NetworkData: []byte("links: [{id: eno1}]\n")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(content(files)).To(HaveKeyWithValue("/config-drive/openstack/latest/network_data.json", MatchJSON(`{"links":[{"id":"eno1"}]}`)))
	_, err = drive(simulator.Boot{NetworkData: []byte("{")})
	g.Expect(err).To(HaveOccurred())
}
