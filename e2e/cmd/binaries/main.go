// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command binaries downloads or builds the programs that the demo and the integration tests run, or prints their paths.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/tool"
)

func main() {
	tool.Main(func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout, os.Stderr) }, tool.PlainError)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("binaries", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "Usage: binaries [--assets] [--print-path] [--print-cache] [NAME...]")
		_, _ = fmt.Fprintln(stderr, "Builds the named programs, by default those of the demo.")
		flags.PrintDefaults()
	}
	assets := flags.Bool("assets", false, "Build the programs for tests: etcd, kube-apiserver, kube-scheduler and kubectl.")
	printPath := flags.Bool("print-path", false, "Build missing programs and print the directory for "+binaries.AssetsVariable+".")
	printCache := flags.Bool("print-cache", false, "Print the directory of the programs that all clones share, and build nothing.")
	shown := flags.String("provider", binaries.DefaultProvider, "Infrastructure provider of the demo.")
	if err := tool.ParseWords(flags, args); err != nil {
		return err
	}
	builder, err := binaries.New(stderr)
	if err != nil {
		return err
	}
	if *printCache {
		_, err = fmt.Fprintln(stdout, filepath.Join(builder.Cache, "bin"))
		return err
	}
	names := flags.Args()
	if *assets || *printPath {
		names = append(names, binaries.Assets()...)
	}
	if len(names) == 0 {
		names = binaries.Demo(*shown)
	}
	if _, err := builder.Ensure(ctx, names...); err != nil {
		return err
	}
	if *printPath {
		_, err = fmt.Fprintln(stdout, builder.Dir())
	}
	return err
}
