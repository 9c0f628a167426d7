// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command harvestersim runs a Harvester cluster without hardware.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/e2e/virtualips"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const usage = `Usage: harvestersim [flags]
Runs a Harvester cluster until it is stopped. KUBEBUILDER_ASSETS names the folder with etcd, kube-apiserver and kube-scheduler.
What cluster templates need to know about it is written to standard output, one NAME=value a line.
With --control every fault of the simulator is made by PUT /faults/FAULT/ARGUMENT/... and ended by DELETE.
Flags:
`

type options struct {
	zones, perZone int
	zoneNames      string
	namespaces     string
	images         string
	pool           string
	listen, host   string
	kubeconfig     string
	control        string
	containers     containers
	announce       string
	delays         simulator.Delays
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
	flags.IntVar(&o.zones, "zones", 3, "zones of hosts: zone-1, zone-2 and so on")
	flags.StringVar(&o.zoneNames, "zone-names", "", "names of the zones, with commas between, in the place of --zones")
	flags.IntVar(&o.perZone, "hosts-per-zone", 2, "hosts in each: zone-1-host-1 and so on")
	flags.StringVar(&o.namespaces, "namespaces", "", "namespaces to make beside default, with commas between")
	flags.StringVar(&o.images, "images", "", "images to have beside ubuntu, with commas between")
	flags.StringVar(&o.pool, "pool", "", "pool of addresses to make: NAME,SUBNET,FIRST,LAST")
	flags.StringVar(&o.listen, "listen", "", "address that the API server listens on, such as :6443, whose host is the first address of this machine that others reach; empty for a port of the local host")
	flags.StringVar(&o.host, "host", "", "what others call this machine instead; needs --listen")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "file to write an administrator's kubeconfig to")
	flags.StringVar(&o.control, "control", "", "address on which faults are made with PUT and repaired with DELETE, such as :8991")
	flags.StringVar(&o.containers.prefix, "containers", "", "let virtual machines boot as containers of Docker, whose names begin with this")
	flags.StringVar(&o.containers.image, "container-image", "", "image of the containers, in the place of the ones that virtual machines name")
	flags.StringVar(&o.containers.label, "container-label", "", "label of the containers, such as owner=me")
	flags.StringVar(&o.containers.network, "container-network", "bridge", "network of the containers, which gives them their addresses")
	flags.StringVar(&o.announce, "announce", "", "network card that takes the addresses of load balancers, which then lead to their virtual machines; empty for none")
	flags.DurationVar(&o.delays.Import, "import", 0, "time until an image is there")
	flags.DurationVar(&o.delays.Volume, "volume", 0, "time until a volume is there")
	flags.DurationVar(&o.delays.Boot, "boot", 0, "time until a virtual machine runs")
	flags.DurationVar(&o.delays.Agent, "agent", 0, "time until its guest agent answers")
	flags.DurationVar(&o.delays.Shutdown, "shutdown", 0, "time until it has stopped")
	flags.DurationVar(&o.delays.Migration, "migration", 0, "time to migrate")
	flags.DurationVar(&o.delays.Reset, "reset", 0, "time until a host that is lost is put out of service, so that its virtual machines start elsewhere; 0 for the 195s of Harvester")
	flags.DurationVar(&o.delays.Backoff, "backoff", 0, "time until a virtual machine that failed before it ran starts again for the first time; 0 for the 10s of KubeVirt")
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
	settings = append(settings, o.containers.options(stderr)...)
	sim, err := simulator.Run(ctx, settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sim.Stop()) }()
	mux := http.NewServeMux()
	tool.HandleFaults(mux, sim.SetFault)
	stop, err := tool.Serve(ctx, o.control, mux)
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
		virtualips.NewAnnouncer(sim.Client(), virtualips.Device{Name: o.announce, Run: tool.Runner{Log: log}}).Run(ctx)
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
	variables := sim.TemplateVariables()
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if _, err := fmt.Fprintf(stdout, "%s=%s\n", name, variables[name]); err != nil {
			return err
		}
	}
	return nil
}

func (o options) settings() ([]simulator.Option, error) {
	list := func(text string) []string {
		return strings.FieldsFunc(text, func(letter rune) bool { return letter == ',' })
	}
	layout := simulator.Zones(o.zones, o.perZone)
	if o.zoneNames != "" {
		layout = simulator.NamedZones(list(o.zoneNames), o.perZone)
	}
	settings := []simulator.Option{
		simulator.WithLayout(layout), simulator.WithDelays(o.delays),
		simulator.WithNamespaces(list(o.namespaces)...), simulator.WithImages(list(o.images)...),
	}
	if o.listen != "" {
		address, err := o.address()
		if err != nil {
			return nil, err
		}
		settings = append(settings, address)
	}
	if o.pool != "" {
		parts := list(o.pool)
		if len(parts) != 4 {
			return nil, fmt.Errorf("--pool is NAME,SUBNET,FIRST,LAST, not %q", o.pool)
		}
		settings = append(settings, simulator.WithPools(simulator.Pool(parts[0], parts[1], parts[2], parts[3])))
	}
	return settings, nil
}

// address returns the listen address of the API server.
func (o options) address() (simulator.Option, error) {
	listen, err := tool.ReachableAddress(o.listen)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(listen)
	return simulator.WithAddress(listen, cmp.Or(o.host, host)), err
}
