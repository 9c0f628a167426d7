// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command harvestersim runs a Harvester cluster without hardware.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/machinecontainers"
	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/e2e/virtualips"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const usage = `Usage: harvestersim [flags]
Runs a Harvester cluster until it is stopped. KUBEBUILDER_ASSETS names the folder with etcd, kube-apiserver and kube-scheduler.
It prints the variables for cluster templates to standard output, one NAME=value on each line.
With --control, PUT /faults/FAULT/ARGUMENT/... injects a fault of the simulator and DELETE ends it.
Flags:
`

type options struct {
	zoneNames  string
	perZone    int
	pool       string
	listen     string
	kubeconfig string
	control    string
	guests     machinecontainers.GuestContainers // none without a prefix
	announce   string
	delays     simulator.Delays
}

func main() {
	tool.Main(func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout, os.Stderr) }, tool.PlainError)
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("harvestersim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.zoneNames, "zone-names", "zone-1,zone-2,zone-3", "Comma-separated names of the zones of hosts.")
	flags.IntVar(&o.perZone, "hosts-per-zone", 2, "Number of hosts in each zone: zone-1-host-1 and so on.")
	flags.StringVar(&o.pool, "pool", "", "IP pool to create: NAME,SUBNET,FIRST,LAST.")
	flags.StringVar(&o.listen, "listen", "", "Address that the API server binds to, for example :6443. Without a host it is the first address of this machine that other machines reach. Defaults to a port of localhost.")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "File to write the administrator's kubeconfig to.")
	flags.StringVar(&o.control, "control", "", "Bind address of the fault API, where PUT injects faults and DELETE ends them, for example :8991.")
	flags.StringVar(&o.guests.Prefix, "containers", "", "Name prefix of the Docker containers as which virtual machines boot. Defaults to no containers.")
	flags.StringVar(&o.guests.Image, "container-image", "", "Image of the containers, instead of the images of the virtual machines.")
	flags.StringVar(&o.guests.Label, "container-label", "", "Label of the containers, for example owner=me.")
	flags.StringVar(&o.guests.Network, "container-network", "bridge", "Docker network of the containers, which assigns their addresses.")
	flags.StringVar(&o.announce, "announce", "", "Network interface that gets the addresses of load balancers and forwards connections to their virtual machines. Defaults to none.")
	flags.DurationVar(&o.delays.Boot, "boot", 0, "Duration until a virtual machine runs.")
	flags.DurationVar(&o.delays.Agent, "agent", 0, "Duration until the guest agent of a running virtual machine connects.")
	flags.DurationVar(&o.delays.Shutdown, "shutdown", 0, "Duration until a virtual machine is shut down.")
	flags.DurationVar(&o.delays.Reset, "reset", 0, "Duration until a lost host is marked out of service and its virtual machines start on another host. 0 is the 195s of Harvester.")
	return o, tool.ParseFlags(flags, args)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ctrl.SetLogger(klog.Background())
	settings, err := o.settings()
	if err != nil {
		return err
	}
	if o.guests.Prefix != "" {
		o.guests.Docker = docker.Docker{Runner: tool.Runner{Log: stderr}}
		settings = append(settings, simulator.WithHooks(o.guests.Hooks()))
	}
	sim, err := simulator.Run(ctx, settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sim.Stop()) }()
	stop, err := tool.Serve(ctx, o.control, tool.Faults(sim.SetFault))
	if err != nil {
		return err
	}
	defer stop()
	defer o.answer(ctx, sim, stderr)()
	if err := o.tell(sim, stdout, stderr); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// answer announces the addresses of load balancers until the returned function is called.
func (o options) answer(ctx context.Context, sim *simulator.Simulator, log io.Writer) (stop func()) {
	if o.announce == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		virtualips.NewAnnouncer(sim.Client(), virtualips.Card{Name: o.announce, Run: tool.Runner{Log: log}}).Run(ctx)
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// tell writes the kubeconfig of the cluster and the variables of cluster templates.
func (o options) tell(sim *simulator.Simulator, stdout, stderr io.Writer) error {
	if o.kubeconfig != "" {
		if err := os.WriteFile(o.kubeconfig, sim.Kubeconfig(), 0o600); err != nil {
			return fmt.Errorf("writing the kubeconfig: %w", err)
		}
		_, _ = fmt.Fprintf(stderr, "Harvester is at %s: KUBECONFIG=%s\n", sim.Server(), o.kubeconfig)
	}
	return tool.PrintVariables(stdout, sim.TemplateVariables())
}

func (o options) settings() ([]simulator.Option, error) {
	list := func(text string) []string {
		return strings.FieldsFunc(text, func(letter rune) bool { return letter == ',' })
	}
	settings := []simulator.Option{simulator.WithLayout(simulator.NamedZones(list(o.zoneNames), o.perZone)), simulator.WithDelays(o.delays)}
	if o.listen != "" {
		listen, err := tool.ReachableAddress(o.listen)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(listen)
		if err != nil {
			return nil, err
		}
		settings = append(settings, simulator.WithAddress(listen, host))
	}
	if o.pool != "" {
		parts := list(o.pool)
		if len(parts) != 4 {
			return nil, fmt.Errorf("--pool=%q: must be NAME,SUBNET,FIRST,LAST", o.pool)
		}
		settings = append(settings, simulator.WithPools(simulator.Pool(parts[0], parts[1], parts[2], parts[3])))
	}
	return settings, nil
}
