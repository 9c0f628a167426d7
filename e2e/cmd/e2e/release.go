// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runRelease runs subcommand release.
func runRelease(_ context.Context, args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("e2e release", flag.ContinueOnError)
	var r release.Release
	flags.StringVar(&r.Root, "root", "..", "root folder of the repository")
	flags.StringVar(&r.Version, "version", "", "version of the release, such as v2.0.0; the tag of its images")
	flags.StringVar(&r.Registry, "registry", "", "registry and path of its images instead of docker.io/faultline")
	flags.StringVar(&r.Out, "out", "", "folder that gets the release")
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	if r.Version == "" || r.Out == "" {
		return fmt.Errorf("say --version and --out")
	}
	folders, err := r.Write()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if _, err := fmt.Fprintln(stdout, folder); err != nil {
			return err
		}
	}
	return nil
}
