// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kind brings up a kind cluster with Cluster API and our providers, and the
// simulated infrastructures that they drive beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/kind"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/source"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "Error:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("kind", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { usage(flags, stderr) }
	name := flags.String("name", "faultline", "name of the kind cluster")
	providers := flags.String("providers", "vsphere", "our providers to install, with commas between: "+strings.Join(all.Names[provider.InKind](), ","))
	from := flags.String("images", "auto", "images of others: published, build, or auto to find out whether a registry answers")
	boot := flags.Bool("boot", false, "let the machines of the simulated infrastructure boot: each is a container")
	if err := flags.Parse(args); err != nil {
		return err
	}
	installed, err := named(*providers)
	if err != nil {
		return err
	}
	environment, err := kind.New(kind.Options{
		Name: *name, Providers: installed, Source: source.Source(*from), Boot: *boot, Out: stdout,
	})
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "up":
		if err := environment.Up(ctx); err != nil {
			return err
		}
		return welcome(stdout, environment)
	case "down":
		return environment.Down(ctx)
	case "images":
		return environment.Images(ctx)
	case "managers":
		return environment.ManagerImages(ctx)
	case "template":
		manifest, err := environment.Template(ctx, stderr, flags.Arg(1), flags.Arg(2))
		if err == nil {
			_, err = stdout.Write(manifest)
		}
		return err
	}
	flags.Usage()
	return flag.ErrHelp
}

func usage(flags *flag.FlagSet, w io.Writer) {
	_, _ = fmt.Fprintln(w, "Usage: kind [flags] up|down|images|managers|template")
	_, _ = fmt.Fprintln(w, "  up      brings everything up, or completes what is up in part")
	_, _ = fmt.Fprintln(w, "  down    removes what up made, save for caches")
	_, _ = fmt.Fprintln(w, "  images  builds what up needs")
	_, _ = fmt.Fprintln(w, "  managers  builds the images of our providers only")
	_, _ = fmt.Fprintln(w, "  template NAME [FLAVOR]  writes the manifest of a workload cluster")
	flags.PrintDefaults()
}

// named looks up providers by their names, with commas between.
func named(names string) ([]provider.InKind, error) {
	var found []provider.InKind
	for name := range strings.SplitSeq(names, ",") {
		p, err := all.Named[provider.InKind](name)
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

// welcome says how to use what is up.
func welcome(w io.Writer, e *kind.Environment) error {
	_, err := fmt.Fprintf(w, `
export KUBECONFIG=%s
export CLUSTERCTL_DISABLE_VERSIONCHECK=true
%s get pods --all-namespaces
%s --config %s describe cluster NAME
`, e.Kubeconfig(), e.Program(binaries.Kubectl), e.Program(binaries.Clusterctl), e.ClusterctlConfig())
	return err
}
