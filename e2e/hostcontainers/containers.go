// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostcontainers gives simulated hosts a body: a container that boots the machine's image, told by a config drive what it
// is, as a server is by the bare-metal operator.
package hostcontainers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/image"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// registry begins the URL of an image that a host can boot. What follows is its name in Docker.
const registry = "oci://"

// Containers are those of the hosts of one simulated bare-metal operator.
type Containers struct {
	Docker docker.Docker
	// Prefix begins the name of each container, Label is on each.
	Prefix, Label string
	// Network is the network of Docker that all are on, Subnet its addresses. Hosts have the same ones for ever.
	Network string
	Subnet  *net.IPNet
}

// Open finds the network.
func Open(ctx context.Context, d docker.Docker, prefix, label, network string) (Containers, error) {
	c := Containers{Docker: d, Prefix: prefix, Label: label, Network: network}
	said, err := d.Run(ctx, "network", "inspect", network, "--format", "{{range .IPAM.Config}}{{.Subnet}} {{end}}")
	if err != nil {
		return c, err
	}
	for subnet := range strings.FieldsSeq(said) {
		if _, parsed, err := net.ParseCIDR(subnet); err == nil && parsed.IP.To4() != nil {
			c.Subnet = parsed
			return c, nil
		}
	}
	return c, fmt.Errorf("network %s has no IPv4 addresses", network)
}

// Hooks let the simulator start and stop the containers.
func (c Containers) Hooks() simulator.Hooks {
	return simulator.Hooks{PowerOn: c.powerOn, PowerOff: c.powerOff, Erase: c.erase}
}

// Inventory is the simulator's own with the address that the host has here.
func (c Containers) Inventory(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareDetails {
	details := simulator.StandardInventory(host)
	if address, err := c.address(host); err == nil {
		details.NIC[0].IP = address.String()
	}
	return details
}

// name of the host's container.
func (c Containers) name(host *bmov1alpha1.BareMetalHost) string {
	return strings.Join([]string{c.Prefix, host.Namespace, host.Name}, "-")
}

// powerOn boots the machine from its disk, which is written now if it was erased. A machine that runs goes on.
func (c Containers) powerOn(ctx context.Context, boot simulator.Boot) error {
	name := c.name(boot.Host)
	state, err := c.state(ctx, name)
	if err != nil {
		return err
	}
	// A container without its drive is left of an attempt that was cut short.
	if state == "" || state == "created" {
		if err := c.install(ctx, boot); err != nil {
			return fmt.Errorf("installing container %s: %w", name, err)
		}
	}
	_, err = c.Docker.Run(ctx, "start", name)
	return err
}

// install makes the container anew. Its hardware address is Docker's own: not every engine lets one choose.
func (c Containers) install(ctx context.Context, boot simulator.Boot) error {
	from, err := imageOf(boot.Host)
	if err != nil {
		return err
	}
	address, err := c.address(boot.Host)
	if err != nil {
		return err
	}
	files, err := drive(boot)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := image.Archive(&archive, files); err != nil {
		return err
	}
	name := c.name(boot.Host)
	if err := c.Docker.Remove(ctx, name); err != nil {
		return err
	}
	_, err = c.Docker.Run(ctx, "create", "--name", name, "--label", c.Label,
		"--network", c.Network, "--ip", address.String(),
		"--privileged", "--cgroupns=private",
		"--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var", "--volume", "/lib/modules:/lib/modules:ro",
		// Who switches a server off does not wait for it.
		"--stop-signal", "SIGKILL", from)
	if err != nil {
		return err
	}
	return c.Docker.Feed(ctx, &archive, "cp", "-", name+":/")
}

// powerOff stops the machine, which keeps its disk.
func (c Containers) powerOff(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	name := c.name(host)
	if state, err := c.state(ctx, name); err != nil || state == "" {
		return err
	}
	_, err := c.Docker.Run(ctx, "stop", name)
	return err
}

func (c Containers) erase(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	return c.Docker.Remove(ctx, c.name(host))
}

// state is Docker's word for what the container does; "" when there is none.
func (c Containers) state(ctx context.Context, name string) (string, error) {
	return c.Docker.Run(ctx, "ps", "--all", "--filter", "name=^"+name+"$", "--format", "{{.State}}")
}

// imageOf is the name in Docker of what the host is to boot.
func imageOf(host *bmov1alpha1.BareMetalHost) (string, error) {
	if host.Spec.Image == nil || !strings.HasPrefix(host.Spec.Image.URL, registry) {
		return "", fmt.Errorf("host %s has no image whose URL begins with %s", host.Name, registry)
	}
	return strings.TrimPrefix(host.Spec.Image.URL, registry), nil
}
