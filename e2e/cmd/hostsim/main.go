// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command hostsim simulates the bare-metal operator and its hosts for an API server that has neither.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/machinecontainers"
	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const usage = `Usage: hostsim [flags]
Simulates the bare-metal operator for the BareMetalHosts in the cluster of KUBECONFIG until it is stopped.
With --control, PUT /faults/FAULT/ARGUMENT/... injects a fault of the simulator and DELETE ends it.
Flags:
`

type options struct {
	namespace   string
	installCRDs bool
	domains     string
	perRack     int
	control     string
	containers  struct{ prefix, label, network string } // that hosts boot as; none without a prefix
}

func main() {
	tool.Main(func(ctx context.Context, args []string) error { return run(ctx, args, os.Stderr) }, tool.PlainError)
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("hostsim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.namespace, "namespace", "", "Namespace of the hosts. Defaults to all namespaces; new hosts are created in default.")
	flags.BoolVar(&o.installCRDs, "install-crds", false, "Install the CRDs of metal3 first.")
	flags.StringVar(&o.domains, "domains", "", "Comma-separated names of failure domains to create hosts in.")
	flags.IntVar(&o.perRack, "hosts-per-rack", 5, "Number of hosts to create in each failure domain.")
	flags.StringVar(&o.control, "control", "", "Bind address of the fault API, where PUT injects faults and DELETE ends them, for example :8990.")
	flags.StringVar(&o.containers.prefix, "containers", "", "Name prefix of the Docker containers as which hosts boot. Defaults to no containers.")
	flags.StringVar(&o.containers.label, "container-label", "", "Label of the containers, for example owner=me.")
	flags.StringVar(&o.containers.network, "container-network", "bridge", "Docker network of the containers. It must have been created with an explicit subnet.")
	return o, tool.ParseFlags(flags, args)
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ctrl.SetLogger(klog.Background())
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	if err := populate(ctx, config, o); err != nil {
		return err
	}
	settings := []simulator.Option{simulator.WithNamespace(o.namespace)}
	if o.containers.prefix != "" {
		d := docker.Docker{Runner: tool.Runner{Log: stderr}}
		bodies, err := machinecontainers.OpenHosts(ctx, d, o.containers.prefix, o.containers.label, o.containers.network)
		if err != nil {
			return err
		}
		settings = append(settings, simulator.WithHooks(bodies.Hooks()), simulator.WithInventory(bodies.Inventory))
	}
	sim := simulator.New(settings...)
	stop, err := tool.Serve(ctx, o.control, tool.Faults(sim.SetFault))
	if err != nil {
		return err
	}
	defer stop()
	return sim.Run(ctx, config)
}

// populate creates the requested CRDs and hosts.
func populate(ctx context.Context, config *rest.Config, o options) error {
	if o.installCRDs {
		crds, err := simulator.CRDs()
		if err != nil {
			return err
		}
		if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
			return fmt.Errorf("installing CRDs: %w", err)
		}
	}
	var layout simulator.Layout
	for name := range strings.SplitSeq(o.domains, ",") {
		if name != "" {
			layout.Domains = append(layout.Domains, simulator.Domain{Name: name, Hosts: o.perRack})
		}
	}
	if len(layout.Domains) == 0 {
		return nil
	}
	scheme := runtime.NewScheme()
	if err := simulator.AddToScheme(scheme); err != nil {
		return fmt.Errorf("building scheme: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	return simulator.Create(ctx, c, cmp.Or(o.namespace, metav1.NamespaceDefault), layout)
}
