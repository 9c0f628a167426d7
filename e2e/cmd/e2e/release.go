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
	flags.StringVar(&r.Root, "root", "..", "Root directory of the repository.")
	flags.StringVar(&r.Version, "version", "", "Version of the release and tag of its images, for example v2.0.0.")
	flags.StringVar(&r.Registry, "registry", "", "Registry and path of the images. Defaults to docker.io/faultline.")
	flags.StringVar(&r.Out, "out", "", "Directory to write the release to.")
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	if r.Version == "" || r.Out == "" {
		return fmt.Errorf("--version and --out must be set")
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
