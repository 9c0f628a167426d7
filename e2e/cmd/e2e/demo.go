// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"io"
	"strings"

	"github.com/faultline-io/faultline/e2e/demo"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runDemo runs subcommand demo.
func runDemo(ctx context.Context, args []string, stdout, _ io.Writer) error {
	options := demo.Options{Out: stdout}
	flags := flag.NewFlagSet("e2e demo", flag.ContinueOnError)
	chosen := all.Flag[provider.InDemo](flags, "infrastructure provider to show")
	flags.StringVar(&options.Flavor, "flavor", "", "flavor of its cluster template, such as topology; empty for the plain one")
	flags.StringVar(&options.Story, "story", "", "what happens to the cluster: "+strings.Join(demo.Stories(), ", ")+"; empty for "+demo.StoryOutage)
	flags.BoolVar(&options.Keep, "keep", false, "leave everything running with the cluster in it, until Ctrl-C")
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	options.Provider = *chosen
	return demo.Run(ctx, options)
}
