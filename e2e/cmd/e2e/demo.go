// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/faultline-io/faultline/e2e/demo"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runDemo runs subcommand demo.
func runDemo(ctx context.Context, args []string, stdout, _ io.Writer) error {
	options := demo.Options{Out: stdout}
	flags := flag.NewFlagSet("e2e demo", flag.ContinueOnError)
	chosen := all.Flag[provider.DemoProvider](flags, "Infrastructure provider to show")
	flags.StringVar(&options.Flavor, "flavor", "", "Flavor of the cluster template, for example topology. Defaults to the template without a flavor.")
	flags.StringVar(&options.Scenario, "story", "", "Scenario to run: "+strings.Join(demo.Scenarios(), ", ")+". Defaults to "+demo.ScenarioOutage+".")
	flags.BoolVar(&options.Keep, "keep", false, "Keep the environment and the cluster running until Ctrl-C.")
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	options.Provider = *chosen
	// A closed pipe is an error of the next write, instead of the end of this process without that of its children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return demo.Run(ctx, options)
}
