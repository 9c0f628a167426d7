// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command harvestersim runs a Harvester cluster without hardware.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/faultserver"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const usage = `Usage: harvestersim [flags]
Runs a Harvester cluster until it is stopped. KUBEBUILDER_ASSETS names the folder with etcd, kube-apiserver and kube-scheduler.
Commands are read from standard input, one a line:
  lose HOST      take the power from a host
  return HOST    give it back
  drain HOST     empty a host as for an upgrade
  uncordon HOST  let it take virtual machines again
With --control every fault of the simulator is made by PUT /faults/FAULT/ARGUMENT/... and ended by DELETE.
Flags:
`

type options struct {
	zones, perZone int
	namespaces     string
	images         string
	pool           string
	listen, host   string
	kubeconfig     string
	control        string
	delays         simulator.Delays
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
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
	flags.IntVar(&o.perZone, "hosts-per-zone", 2, "hosts in each: zone-1-host-1 and so on")
	flags.StringVar(&o.namespaces, "namespaces", "", "namespaces to make beside default, with commas between")
	flags.StringVar(&o.images, "images", "", "images to have beside ubuntu, with commas between")
	flags.StringVar(&o.pool, "pool", "", "pool of addresses to make: NAME,SUBNET,FIRST,LAST")
	flags.StringVar(&o.listen, "listen", "", "address that the API server is reached at, such as :6443; empty for a port of this host of its own")
	flags.StringVar(&o.host, "host", "", "what others call this machine; needs --listen")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "file to write an administrator's kubeconfig to")
	flags.StringVar(&o.control, "control", "", "address on which faults are made with PUT and repaired with DELETE, such as :8991")
	flags.DurationVar(&o.delays.Import, "import", 0, "time until an image is there")
	flags.DurationVar(&o.delays.Volume, "volume", 0, "time until a volume is there")
	flags.DurationVar(&o.delays.Boot, "boot", 0, "time until a virtual machine runs")
	flags.DurationVar(&o.delays.Agent, "agent", 0, "time until its guest agent answers")
	flags.DurationVar(&o.delays.Shutdown, "shutdown", 0, "time until it has stopped")
	flags.DurationVar(&o.delays.Migration, "migration", 0, "time to migrate")
	flags.DurationVar(&o.delays.Reset, "reset", 0, "time until the virtual machines of a host that is lost start elsewhere")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.kubeconfig == "" {
		return o, errors.New("--kubeconfig is needed: nobody could reach the cluster")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ctrl.SetLogger(klog.Background())
	settings, err := o.settings()
	if err != nil {
		return err
	}
	sim, err := simulator.Run(ctx, settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sim.Stop()) }()
	mux := http.NewServeMux()
	faultserver.Handle(mux, sim.SetFault)
	stop, err := faultserver.Serve(ctx, o.control, mux)
	if err != nil {
		return err
	}
	defer stop()
	if err := os.WriteFile(o.kubeconfig, sim.Kubeconfig(), 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	_, _ = fmt.Fprintf(stderr, "Harvester is at %s: KUBECONFIG=%s\n", sim.Server(), o.kubeconfig)
	go readCommands(ctx, sim, stdin, stderr)
	<-ctx.Done()
	return nil
}

func (o options) settings() ([]simulator.Option, error) {
	list := func(text string) []string {
		return strings.FieldsFunc(text, func(letter rune) bool { return letter == ',' })
	}
	settings := []simulator.Option{
		simulator.WithLayout(simulator.Zones(o.zones, o.perZone)), simulator.WithDelays(o.delays),
		simulator.WithNamespaces(list(o.namespaces)...), simulator.WithImages(list(o.images)...), simulator.WithAddress(o.listen, o.host),
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

// readCommands carries out commands until there are no more.
func readCommands(ctx context.Context, sim *simulator.Simulator, stdin io.Reader, stderr io.Writer) {
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		if err := command(ctx, sim, strings.Fields(lines.Text())); err != nil {
			_, _ = fmt.Fprintln(stderr, "Error:", err)
		}
	}
}

func command(ctx context.Context, sim *simulator.Simulator, words []string) error {
	if len(words) == 0 {
		return nil
	}
	if len(words) != 2 {
		return fmt.Errorf("a command has two words: %q", strings.Join(words, " "))
	}
	commands := map[string]func(context.Context, string) error{
		"lose": sim.Lose, "return": sim.Return, "drain": sim.Drain, "uncordon": sim.Uncordon,
	}
	carryOut, ok := commands[words[0]]
	if !ok {
		return fmt.Errorf("there is no command %q", words[0])
	}
	return carryOut(ctx, words[1])
}
