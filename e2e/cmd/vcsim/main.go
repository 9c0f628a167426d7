// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command vcsim runs a simulated vCenter as its own program, for clusters that reach it over a network. It writes the variables of
// cluster templates to standard output, one NAME=value per line.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// guestDelay is the boot time of a guest.
const guestDelay = time.Second

func main() {
	tool.Main(func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout) }, tool.PlainError)
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("vcsim", flag.ContinueOnError)
	listen := flags.String("listen", ":8989", "Bind address. Without a host it is the first address of this machine that other machines reach.")
	vcenters := flags.Int("vcenters", 1, "Number of vCenters with the same layout and account. All but the first listen on free ports.")
	layout := flags.String("layout", "three-zones", "Layout of the inventory: three-zones, three-datacenters or host-groups.")
	containers := flags.Bool("containers", false, "Run guests as the containers that RUN.container of the machines names.")
	control := flags.String("control", ":8990", "Bind address of the control API, where guests read their UUID and tests inject faults.")
	var faults []simulator.Option
	flags.Func("fault", "Inject the `fault` at the start: "+faultWords()+". Can be repeated.", func(value string) error { //nolint:contextcheck // The fault lasts as long as the simulator.
		words := strings.Split(value, "/")
		faults = append(faults, simulator.WithFault(words[0], words[1:]...))
		return nil
	})
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	delay := guestDelay
	if *containers { // The simulator's own guests never boot.
		delay = -1
	}
	chosen, datacenter, err := inventory(*layout)
	if err != nil {
		return err
	}
	address, err := tool.ReachableAddress(*listen)
	if err != nil {
		return err
	}
	servers, err := simulator.NewSeveral(max(*vcenters, 1), chosen, append([]simulator.Option{ //nolint:contextcheck // The simulators run until they are closed.
		simulator.WithListen(address), simulator.WithGuestDelay(delay),
	}, faults...)...)
	if err != nil {
		return err
	}
	defer simulator.CloseAll(servers)
	stop, err := tool.Serve(ctx, *control, controls(servers...))
	if err != nil {
		return err
	}
	defer stop()
	if err := tool.PrintVariables(stdout, simulator.TemplateVariables(datacenter, servers...)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// faultWords lists the syntax of the simulator's faults.
func faultWords() string {
	var words []string
	for _, fault := range simulator.Faults() {
		words = append(words, fault.Usage())
	}
	return strings.Join(words, ", ")
}

// inventory returns a layout and the datacenter that cluster templates use in it.
func inventory(name string) (layout simulator.Layout, datacenter string, err error) {
	switch name {
	case "three-zones":
		return simulator.ThreeZones(), "dc-1", nil
	case "three-datacenters":
		return simulator.ThreeDatacenters(), "dc-a", nil
	case "host-groups":
		return simulator.HostGroups(), "dc-1", nil
	}
	return simulator.Layout{}, "", fmt.Errorf("unknown layout %q", name)
}
