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
	// seed is where cloud-init looks for NoCloud's data that are not on a disk.
	seed = "/var/lib/cloud/seed/nocloud/"
	// guestDataSource lets cloud-init look at nothing else: the image is for machines of others, too.
	guestDataSource = "datasource_list: [ NoCloud ]\n"
	// externalCloud has machine-init leave to the kubelet's own configuration, and to others, what a cloud provider does.
	externalCloud = "FAULTLINE_CLOUD_PROVIDER=external"
)

// nic is what containers call the interface that Docker gives them.
const nic = "eth0"

// GuestContainers are those of the virtual machines of one simulated Harvester.
type GuestContainers struct {
	Containers

	// Prefix begins the name of each container, and Image is what all boot from, whatever image their disks are filled from.
	Prefix, Image string
}

// Hooks let the simulator start and stop the containers.
func (c GuestContainers) Hooks() simulator.Hooks {
	return simulator.Hooks{PowerOn: c.powerOn, PowerOff: c.powerOff, Address: c.address, Erase: c.erase, NIC: nic}
}

// name of a virtual machine's container.
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

// seedOf is what KubeVirt puts on the disk that cloud-init reads.
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
	return c.Erase(ctx, c.name(vm.Namespace, vm.Name))
}

// address is Docker's, which plays the DHCP server.
func (c GuestContainers) address(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) (string, error) {
	name := c.name(vmi.Namespace, vmi.Name)
	address, err := c.Address(ctx, name)
	if err == nil && address == "" && vmi.Status.Phase == kubevirtv1.Running {
		err = errors.New("container " + name + " does not run: see docker logs " + name)
	}
	return address, err
}
