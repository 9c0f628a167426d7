// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machinecontainers

import (
	"context"
	"fmt"
	"net"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// registry is the URL prefix of an image that a host can boot. The image's name in Docker follows.
const registry = "oci://"

// HostContainers are the containers of the hosts of one simulated bare-metal operator.
type HostContainers struct {
	Containers

	// Prefix is the name prefix of each container.
	Prefix string
	// Subnet is the subnet of the network. The address of a host never changes.
	Subnet *net.IPNet
}

// OpenHosts looks up the network's subnet.
func OpenHosts(ctx context.Context, d docker.Docker, prefix, label, network string) (HostContainers, error) {
	subnet, err := d.Subnet(ctx, network)
	return HostContainers{Containers: Containers{Docker: d, Label: label, Network: network}, Prefix: prefix, Subnet: subnet}, err
}

// Hooks returns the simulator's hooks for starting and stopping the containers.
func (c HostContainers) Hooks() simulator.Hooks {
	return simulator.Hooks{PowerOn: c.powerOn, PowerOff: c.powerOff, Erase: c.erase}
}

// Inventory returns the simulator's inventory with the address of the host's container.
func (c HostContainers) Inventory(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareDetails {
	details := simulator.StandardInventory(host)
	if address, err := c.address(host); err == nil {
		details.NIC[0].IP = address.String()
	}
	return details
}

// name returns the name of the host's container.
func (c HostContainers) name(host *bmov1alpha1.BareMetalHost) string {
	return strings.Join([]string{c.Prefix, host.Namespace, host.Name}, "-")
}

func (c HostContainers) powerOn(ctx context.Context, boot simulator.Boot) error {
	return c.PowerOn(ctx, c.name(boot.Host), func() (Machine, error) { return c.installed(boot) })
}

// installed returns what the operator would write to the host's disks.
func (c HostContainers) installed(boot simulator.Boot) (m Machine, err error) {
	if m.Image, err = imageOf(boot.Host); err != nil {
		return m, err
	}
	if m.Address, err = c.address(boot.Host); err != nil {
		return m, err
	}
	m.Files, err = drive(boot)
	return m, err
}

func (c HostContainers) powerOff(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	return c.PowerOff(ctx, c.name(host))
}

func (c HostContainers) erase(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	return c.Docker.Remove(ctx, c.name(host))
}

// imageOf returns the Docker image that the host must boot.
func imageOf(host *bmov1alpha1.BareMetalHost) (string, error) {
	if host.Spec.Image == nil || !strings.HasPrefix(host.Spec.Image.URL, registry) {
		return "", fmt.Errorf("host %s has no image whose URL begins with %s", host.Name, registry)
	}
	return strings.TrimPrefix(host.Spec.Image.URL, registry), nil
}
