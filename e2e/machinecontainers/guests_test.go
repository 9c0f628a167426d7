// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package machinecontainers

import (
	"testing"

	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

func TestGuestReadsNoCloudData(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	boot := simulator.Boot{VM: &kubevirtv1.VirtualMachine{}, VMI: &kubevirtv1.VirtualMachineInstance{}, UserData: []byte("#cloud-config\n")}
	boot.VM.UID, boot.VMI.Name = "uid", "demo-1"
	content := func() map[string]string {
		all := map[string]string{}
		for _, file := range seedOf(boot) {
			all[file.Path] = string(file.Content)
		}
		return all
	}
	g.Expect(content()).To(Equal(map[string]string{
		"/etc/cloud/cloud.cfg.d/99-source.cfg":  "datasource_list: [ NoCloud ]\n",
		"/var/lib/cloud/seed/nocloud/meta-data": "instance-id: uid\nlocal-hostname: demo-1\n",
		"/var/lib/cloud/seed/nocloud/user-data": "#cloud-config\n",
	}))
	boot.NetworkData = []byte("version: 2\n")
	g.Expect(content()).To(HaveKeyWithValue("/var/lib/cloud/seed/nocloud/network-config", "version: 2\n"))
	g.Expect(GuestContainers{Prefix: "x-harvester"}.name("default", "demo-1")).To(Equal("x-harvester-vm-default-demo-1"))
}
