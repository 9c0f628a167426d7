// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machinecontainers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const (
	// seed is where cloud-init looks for NoCloud data that are not on a disk.
	seed = "/var/lib/cloud/seed/nocloud/"
	// guestDataSource limits cloud-init to NoCloud, because other machines use the same image.
	guestDataSource = "datasource_list: [ NoCloud ]\n"
	// externalCloud makes machine-init leave the work of a cloud provider to the kubelet's own configuration and to the cloud provider.
	externalCloud = "FAULTLINE_CLOUD_PROVIDER=external"
)

// nic is the name of the interface that Docker gives to containers.
const nic = "eth0"

// GuestContainers are the containers of the virtual machines of one simulated Harvester.
type GuestContainers struct {
	Containers

	// Prefix is the name prefix of each container, and Image the image that all boot from, regardless of the image of their disks.
	Prefix, Image string
}

// Hooks returns the simulator's hooks for starting and stopping the containers.
func (c GuestContainers) Hooks() simulator.Hooks {
	return simulator.Hooks{PowerOn: c.powerOn, PowerOff: c.powerOff, Address: c.address, Erase: c.erase, NIC: nic}
}

// name returns the name of a virtual machine's container.
func (c GuestContainers) name(namespace, name string) string {
	return strings.Join([]string{c.Prefix, "vm", namespace, name}, "-")
}

// powerOn boots the guest.
func (c GuestContainers) powerOn(ctx context.Context, boot simulator.Boot) error {
	return c.PowerOn(ctx, c.name(boot.VMI.Namespace, boot.VMI.Name), func() (Machine, error) {
		return Machine{
			Image: c.Image, Files: seedOf(boot), Arguments: []string{"--hostname", boot.VMI.Name, "--env", externalCloud},
		}, nil
	})
}

// seedOf returns the data that KubeVirt puts on the disk that cloud-init reads.
func seedOf(boot simulator.Boot) []docker.File {
	metaData := fmt.Sprintf("instance-id: %s\nlocal-hostname: %s\n", boot.VM.UID, boot.VMI.Name)
	files := []docker.File{
		{Path: "/etc/cloud/cloud.cfg.d/99-source.cfg", Content: []byte(guestDataSource)},
		{Path: seed + "meta-data", Content: []byte(metaData), Mode: 0o600},
		{Path: seed + "user-data", Content: boot.UserData, Mode: 0o600},
	}
	if len(boot.NetworkData) > 0 {
		files = append(files, docker.File{Path: seed + "network-config", Content: boot.NetworkData, Mode: 0o600})
	}
	return files
}

func (c GuestContainers) powerOff(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) error {
	return c.PowerOff(ctx, c.name(vmi.Namespace, vmi.Name))
}

func (c GuestContainers) erase(ctx context.Context, vm *kubevirtv1.VirtualMachine) error {
	return c.Docker.Remove(ctx, c.name(vm.Namespace, vm.Name))
}

// address returns the address that Docker assigned in place of a DHCP server.
func (c GuestContainers) address(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) (string, error) {
	name := c.name(vmi.Namespace, vmi.Name)
	address, err := c.Address(ctx, name)
	if err == nil && address == "" && vmi.Status.Phase == kubevirtv1.Running {
		err = errors.New("container " + name + " is not running: see docker logs " + name)
	}
	return address, err
}
