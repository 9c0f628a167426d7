// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/kind"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runKind runs subcommand kind.
func runKind(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("e2e kind", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { usageOfKind(flags, stderr) }
	name := flags.String("name", "faultline", "Name of the kind cluster.")
	providers := flags.String("providers", provider.DefaultName, "Comma-separated list of providers to install: "+strings.Join(all.Names[provider.KindProvider](), ",")+".")
	from := tool.SourceAuto
	flags.Func("images", "Source of third-party images: published, build, or auto to use published images if a registry responds. Defaults to auto.", func(text string) (err error) {
		from, err = tool.ParseSource(text)
		return err
	})
	boot := flags.Bool("boot", false, "Boot the machines of the simulated infrastructure as containers.")
	var named docker.Release
	flags.StringVar(&named.Version, "version", "", "Tag of the images, only with managers. Defaults to that of the sources.")
	flags.StringVar(&named.Registry, "registry", "", "Registry and path of the images, only with managers. Defaults to docker.io/faultline.")
	if err := tool.ParseWords(flags, args); err != nil {
		return err
	}
	if err := checkKind(flags.Args()); err != nil {
		return err
	}
	installed, err := providersInKind(*providers)
	if err != nil {
		return err
	}
	environment, err := kind.New(kind.Options{
		Name: *name, Providers: installed, Source: from, Boot: *boot, Out: stdout,
	})
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "up":
		if err := environment.Up(ctx); err != nil {
			return err
		}
		return printUsage(stdout, environment)
	case "down":
		return environment.Down(ctx)
	case "images":
		return environment.Images(ctx)
	case "managers":
		return environment.ManagerImages(ctx, named)
	}
	manifest, err := environment.Template(ctx, stderr, flags.Arg(1), flags.Arg(2))
	if err == nil {
		_, err = stdout.Write(manifest)
	}
	return err
}

// checkKind validates the arguments of a command line.
func checkKind(words []string) error {
	actions := []string{"up", "down", "images", "managers", "template"}
	switch {
	case len(words) == 0:
		return errors.New("an action is required: e2e kind up, or one of " + strings.Join(actions[1:], ", "))
	case !slices.Contains(actions, words[0]):
		return fmt.Errorf("unknown action %q: must be one of %s", "e2e kind "+words[0], strings.Join(actions, ", "))
	case words[0] == "template" && (len(words) < 2 || len(words) > 3):
		return errors.New("the name of the cluster is required, the flavor is optional: e2e kind template NAME [FLAVOR]")
	case words[0] != "template" && len(words) > 1:
		return fmt.Errorf("unexpected argument %q: run e2e kind %s", strings.Join(words[1:], " "), words[0])
	}
	return nil
}

func usageOfKind(flags *flag.FlagSet, w io.Writer) {
	_, _ = fmt.Fprintln(w, "Usage: e2e kind [flags] up|down|images|managers|template")
	_, _ = fmt.Fprintln(w, "  up      creates the environment, or completes it")
	_, _ = fmt.Fprintln(w, "  down    removes what up created, except for caches")
	_, _ = fmt.Fprintln(w, "  images  builds the images for up")
	_, _ = fmt.Fprintln(w, "  managers  builds only the images of the providers")
	_, _ = fmt.Fprintln(w, "  template NAME [FLAVOR]  prints the manifest of a workload cluster")
	flags.PrintDefaults()
}

// providersInKind returns the providers in a comma-separated list of names.
func providersInKind(names string) ([]provider.KindProvider, error) {
	var found []provider.KindProvider
	for name := range strings.SplitSeq(names, ",") {
		p, err := all.Named[provider.KindProvider](name)
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

// printUsage prints how to use the running environment.
func printUsage(w io.Writer, e *kind.Environment) error {
	_, err := fmt.Fprintf(w, `
export KUBECONFIG=%s
export CLUSTERCTL_DISABLE_VERSIONCHECK=true
%s get pods --all-namespaces
%s --config %s describe cluster NAME
`, e.Kubeconfig(), e.Program(binaries.Kubectl), e.Program(binaries.Clusterctl), e.ClusterctlConfig())
	return err
}
