// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows a cluster over failure domains: it comes up, a domain breaks
// and is mended, the cluster goes. It needs Go and nothing else.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/faultline-io/faultline/e2e/playground"
	"github.com/faultline-io/faultline/e2e/provider/all"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, playground.Explain(err))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	options := playground.Options{Out: os.Stdout, Size: terminal(os.Stdout)}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	name := flags.String("provider", "vsphere", "infrastructure provider to show: "+strings.Join(all.Names(), " or "))
	flags.StringVar(&options.Flavor, "flavor", "", "flavor of its cluster template, such as topology; empty for the plain one")
	flags.BoolVar(&options.Keep, "keep", false, "leave everything running with the cluster in it, until Ctrl-C")
	plain := flags.Bool("plain", false, "print lines, also on a terminal")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *plain {
		options.Size = nil
	}
	var err error
	if options.Provider, err = all.Named(*name); err != nil {
		return err
	}
	return playground.Run(ctx, options)
}

// terminal answers how large the terminal behind a file is, or nil when there is
// none that a picture could be painted on.
func terminal(file *os.File) func() (columns, rows int) {
	fd := int(file.Fd())
	if !term.IsTerminal(fd) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() (columns, rows int) {
		columns, rows, err := term.GetSize(fd)
		if err != nil {
			return 80, 24
		}
		return columns, rows
	}
}
