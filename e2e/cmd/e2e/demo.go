// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/faultline-io/faultline/e2e/demo"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runDemo is subcommand demo.
func runDemo(ctx context.Context, args []string, stdout, _ io.Writer) error {
	options := demo.Options{Out: stdout, Size: terminal(os.Stdout)}
	flags := flag.NewFlagSet("e2e demo", flag.ContinueOnError)
	chosen := all.Flag[provider.InDemo](flags, "infrastructure provider to show")
	flags.StringVar(&options.Flavor, "flavor", "", "flavor of its cluster template, such as topology; empty for the plain one")
	flags.StringVar(&options.Story, "story", "", "what happens to the cluster: "+strings.Join(demo.Stories(), ", ")+"; empty for "+demo.StoryOutage)
	flags.BoolVar(&options.Keep, "keep", false, "leave everything running with the cluster in it, until Ctrl-C")
	plain := flags.Bool("plain", false, "print lines, also on a terminal")
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	if *plain {
		options.Size = nil
	}
	options.Provider = *chosen
	return demo.Run(ctx, options)
}

// terminal answers how large the terminal behind a file is, or nil when there is
// none to show a frame on.
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
