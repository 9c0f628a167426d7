// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release writes what clusterctl, kubectl and helm install.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/faultline-io/faultline/e2e/program"
	"github.com/faultline-io/faultline/e2e/release"
)

func main() {
	program.Main(func(_ context.Context, args []string) error { return run(args, os.Stdout) }, program.Plain)
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	var r release.Release
	flags.StringVar(&r.Root, "root", "..", "root folder of the repository")
	flags.StringVar(&r.Version, "version", "", "version of the release, such as v2.0.0; the tag of its images")
	flags.StringVar(&r.Registry, "registry", "", "registry and path of its images instead of docker.io/faultline")
	flags.StringVar(&r.Out, "out", "", "folder that gets the release")
	if err := program.Parse(flags, args); err != nil {
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
