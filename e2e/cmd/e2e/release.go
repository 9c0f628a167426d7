// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runRelease runs subcommand release.
func runRelease(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("e2e release", flag.ContinueOnError)
	var r release.Release
	flags.StringVar(&r.Root, "root", "..", "Root directory of the repository.")
	flags.StringVar(&r.Version, "version", "", "Version of the release and tag of its images, for example v2.0.0.")
	flags.StringVar(&r.Registry, "registry", "", "Registry and path of the images. Defaults to docker.io/faultline.")
	flags.StringVar(&r.Out, "out", "", "Directory to write the release to.")
	flags.StringVar(&r.Commit, "commit", "", "Commit of the sources, for the provenance.")
	created := flags.String("created", "", "Time of the commit, for the SBOMs, such as 2026-11-27T10:00:00Z.")
	architectures := flags.String("architectures", "", "Comma-separated architectures for which images are written as OCI archives: amd64, arm64. None by default.")
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	if r.Version == "" || r.Out == "" {
		return fmt.Errorf("--version and --out must be set")
	}
	if *created != "" {
		var err error
		if r.Created, err = time.Parse(time.RFC3339, *created); err != nil {
			return fmt.Errorf("invalid --created: %w", err)
		}
	}
	if *architectures != "" {
		builder, err := binaries.New(stderr)
		if err != nil {
			return err
		}
		r.Architectures = strings.Split(*architectures, ",")
		if err := r.WriteImages(ctx, builder); err != nil {
			return err
		}
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
