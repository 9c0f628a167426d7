//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/faultline-io/faultline/e2e/charts"
	"github.com/faultline-io/faultline/e2e/kind"
	"github.com/faultline-io/faultline/e2e/provider"
)

// repository is the root folder.
const repository = "../.."

// gatewayOf returns this machine's address on the network of the node. The cluster's pods reach programs that listen there.
func gatewayOf(ctx context.Context, e *kind.Environment) (string, error) {
	network, err := networkOf(ctx, e)
	if err != nil {
		return "", err
	}
	return network.Gateway.String(), nil
}

// networkOf returns the network of the node.
func networkOf(ctx context.Context, e *kind.Environment) (dockerNetwork, error) {
	out, err := e.Kind(io.Discard).Docker.Run(ctx, "network", "inspect", kindNetwork, "--format",
		"{{slice .ID 0 12}} {{range .IPAM.Config}}{{.Subnet}},{{.Gateway}} {{end}}")
	if err != nil {
		return dockerNetwork{}, err
	}
	return parseNetwork(out)
}

// cutPower powers off machines that boot, given by name. The simulator of the first provider detects this. As from a DHCP server, each
// machine gets its address again when it is powered on: Docker alone may give it to another machine, and etcd's member then stays down.
func cutPower(ctx context.Context, e *kind.Environment, machines ...string) error {
	for _, machine := range machines {
		container, err := containerOf(ctx, e, machine)
		if err != nil {
			return err
		}
		d := e.Kind(io.Discard).Docker
		at, err := d.Run(ctx, "inspect", container, "--format", "{{range $name, $at := .NetworkSettings.Networks}}{{$name}} {{$at.IPAddress}}{{end}}")
		if err != nil {
			return err
		}
		network, address, _ := strings.Cut(at, " ")
		for _, command := range [][]string{
			{"kill", container}, {"network", "disconnect", network, container}, {"network", "connect", "--ip", address, network, container},
		} {
			if _, err := d.Run(ctx, command...); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasAddress reports whether a machine that boots has an address. A machine without power does not.
func hasAddress(ctx context.Context, e *kind.Environment, machine, address string) (bool, error) {
	running, err := running(ctx, e, machine)
	if err != nil || running == "" {
		return false, err
	}
	out, err := e.Kind(io.Discard).Docker.Exec(ctx, running, "ip", "-oneline", "address", "show", "to", address)
	return out != "", err
}

// networkPlugins is the path of the pod network configuration on a machine.
const networkPlugins = "/etc/cni/net.d/10-ptp.conflist"

// addPodSubnet makes every new pod on a machine that boots get an address of this IPv6 subnet in addition to its own.
func addPodSubnet(ctx context.Context, e *kind.Environment, machine string, subnet netip.Prefix) error {
	container, err := containerOf(ctx, e, machine)
	if err != nil {
		return err
	}
	docker := e.Kind(io.Discard).Docker
	content, err := docker.Exec(ctx, container, "cat", networkPlugins)
	if err != nil {
		return err
	}
	both, err := withSubnet([]byte(content), subnet)
	if err != nil {
		return fmt.Errorf("adding %s to %s of machine %s: %w", subnet, networkPlugins, machine, err)
	}
	// Docker enables it only for its own network card, and not for those of pods.
	if _, err := docker.Exec(ctx, container, "sysctl", "--write", "net.ipv6.conf.all.disable_ipv6=0"); err != nil {
		return err
	}
	// Atomically, because containerd reads it as soon as it changes.
	const replace = "cat > " + networkPlugins + ".new && mv " + networkPlugins + ".new " + networkPlugins
	return docker.Feed(ctx, bytes.NewReader(both), "exec", "--interactive", container, "sh", "-ec", replace)
}

// loadMachines loads the images of the kind node into machines that boot, because a management cluster will run on them, and they cannot
// pull images. Only the process that called Up has the list of images.
func loadMachines(ctx context.Context, e *kind.Environment, machines ...string) error {
	images := e.NodeImages()
	if len(images) == 0 {
		return errors.New("the environment was recreated by another run")
	}
	return load(ctx, e, images, machines)
}

// loadChartImage loads the image of the program of one of our charts into machines that boot.
func loadChartImage(ctx context.Context, e *kind.Environment, chart string, machines ...string) error {
	name, err := charts.Image(repository, chart)
	if err != nil {
		return err
	}
	return load(ctx, e, []string{name}, machines)
}

func load(ctx context.Context, e *kind.Environment, images, machines []string) error {
	for _, machine := range machines {
		container, err := containerOf(ctx, e, machine)
		if err != nil {
			return err
		}
		if _, err := kind.LoadImages(ctx, e.Kind(io.Discard).Docker, container, images...); err != nil {
			return fmt.Errorf("giving machine %s its images: %w", machine, err)
		}
	}
	return nil
}

// containerOf returns the container of a machine of the first provider.
func containerOf(ctx context.Context, e *kind.Environment, machine string) (string, error) {
	container, err := running(ctx, e, machine)
	if err == nil && container == "" {
		err = fmt.Errorf("no container of machine %s found", machine)
	}
	return container, err
}

// running returns the container of a machine; "" if it does not run.
func running(ctx context.Context, e *kind.Environment, machine string) (string, error) {
	return e.Kind(io.Discard).Docker.Run(ctx, "ps", "--quiet",
		"--filter", "label="+e.Kind(io.Discard).Label, "--filter", "name="+e.Providers[0].MachineContainer(machine))
}

// makeFault injects a fault into the simulated infrastructure of a provider, or ends it.
func makeFault(ctx context.Context, e *kind.Environment, p provider.KindProvider, fault string, present bool) error {
	k := e.Kind(io.Discard)
	host, err := k.Docker.Run(ctx, "inspect", "--format",
		"{{(index .NetworkSettings.Networks \""+k.Network+"\").IPAddress}}", k.Container(p.Simulator()))
	if err != nil || host == "" {
		return errors.Join(fmt.Errorf("%s is not up", k.Container(p.Simulator())), err)
	}
	return setFault(ctx, "http://"+net.JoinHostPort(host, provider.ControlPort), fault, present)
}

// whileStopped runs a function while the simulated infrastructure of a provider is stopped.
func whileStopped(ctx context.Context, e *kind.Environment, p provider.KindProvider, do func()) error {
	k := e.Kind(io.Discard)
	name := k.Container(p.Simulator())
	if _, err := k.Docker.Run(ctx, "stop", name); err != nil {
		return err
	}
	do()
	_, err := k.Docker.Run(ctx, "start", name)
	return err
}
