// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/faultline-io/faultline/e2e/charts"
)

// CutPower takes the power from machines that boot, given by name. The simulator of the first provider finds them switched off.
func (e *Environment) CutPower(ctx context.Context, machines ...string) error {
	for _, machine := range machines {
		container, err := e.containerOf(ctx, machine)
		if err != nil {
			return err
		}
		if _, err := e.docker(io.Discard).Run(ctx, "kill", container); err != nil {
			return err
		}
	}
	return nil
}

// HasAddress reports whether a machine that boots, given by name, answers for an address. One that has no power does not.
func (e *Environment) HasAddress(ctx context.Context, machine, address string) (bool, error) {
	running, err := e.running(ctx, machine)
	if err != nil || running == "" {
		return false, err
	}
	out, err := e.docker(io.Discard).Exec(ctx, running, "ip", "-oneline", "address", "show", "to", address)
	return out != "", err
}

// networkPlugins is where a machine has the configuration of what gives pods a network.
const networkPlugins = "/etc/cni/net.d/10-ptp.conflist"

// AddPodSubnet has each pod that a machine that boots, given by name, runs from now on have an address of this IPv6 subnet besides its own.
func (e *Environment) AddPodSubnet(ctx context.Context, machine string, subnet netip.Prefix) error {
	container, err := e.containerOf(ctx, machine)
	if err != nil {
		return err
	}
	docker := e.docker(io.Discard)
	content, err := docker.Exec(ctx, container, "cat", networkPlugins)
	if err != nil {
		return err
	}
	both, err := withSubnet([]byte(content), subnet)
	if err != nil {
		return fmt.Errorf("adding %s to %s of machine %s: %w", subnet, networkPlugins, machine, err)
	}
	// Docker has it on for its own network card alone, and not for those that lead to pods.
	if _, err := docker.Exec(ctx, container, "sysctl", "--write", "net.ipv6.conf.all.disable_ipv6=0"); err != nil {
		return err
	}
	// In one step: containerd reads it as soon as it changes.
	const replace = "cat > " + networkPlugins + ".new && mv " + networkPlugins + ".new " + networkPlugins
	return docker.Feed(ctx, bytes.NewReader(both), "exec", "--interactive", container, "sh", "-ec", replace)
}

// withSubnet is a configuration of network plugins whose first one gives an address of an IPv6 subnet, too.
func withSubnet(conflist []byte, subnet netip.Prefix) ([]byte, error) {
	var all struct {
		CNIVersion string           `json:"cniVersion"`
		Name       string           `json:"name"`
		Plugins    []map[string]any `json:"plugins"`
	}
	if err := json.Unmarshal(conflist, &all); err != nil {
		return nil, err
	}
	if len(all.Plugins) == 0 {
		return nil, errors.New("there is no plugin")
	}
	ipam, ok := all.Plugins[0]["ipam"].(map[string]any)
	if !ok {
		return nil, errors.New("the first plugin gives no addresses")
	}
	ranges, _ := ipam["ranges"].([]any)
	routes, _ := ipam["routes"].([]any)
	ipam["ranges"] = append(ranges, []any{map[string]any{"subnet": subnet}})
	ipam["routes"] = append(routes, map[string]any{"dst": "::/0"})
	return json.Marshal(all)
}

// LoadMachines gives machines that boot, given by name, the images that the kind node has: a management cluster is to run
// on them, and nothing can be pulled. Only who has called Up knows the images.
func (e *Environment) LoadMachines(ctx context.Context, machines ...string) error {
	if len(e.found.images) == 0 {
		return errors.New("the environment has been brought up by somebody else")
	}
	return e.load(ctx, e.found.images, machines)
}

// LoadChartImage gives machines that boot, given by name, the image of the program that a chart of ours runs.
func (e *Environment) LoadChartImage(ctx context.Context, chart string, machines ...string) error {
	name, err := charts.Image(e.builder.Root, chart)
	if err != nil {
		return err
	}
	return e.load(ctx, []string{name}, machines)
}

func (e *Environment) load(ctx context.Context, images, machines []string) error {
	for _, machine := range machines {
		container, err := e.containerOf(ctx, machine)
		if err != nil {
			return err
		}
		if _, err := LoadImages(ctx, e.docker(io.Discard), container, images...); err != nil {
			return fmt.Errorf("giving machine %s its images: %w", machine, err)
		}
	}
	return nil
}

// containerOf is the container that a machine of the first provider runs in.
func (e *Environment) containerOf(ctx context.Context, machine string) (string, error) {
	container, err := e.running(ctx, machine)
	if err == nil && container == "" {
		err = fmt.Errorf("no container is machine %s", machine)
	}
	return container, err
}

// running is the container of a machine; "" when it does not run.
func (e *Environment) running(ctx context.Context, machine string) (string, error) {
	return e.docker(io.Discard).Run(ctx, "ps", "--quiet",
		"--filter", "label="+environmentLabel+"="+e.Name, "--filter", "name="+e.Providers[0].MachineContainer(machine))
}
