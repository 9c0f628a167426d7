// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command charts packs the Helm charts for a release.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/faultline-io/faultline/e2e/charts"
	"github.com/faultline-io/faultline/e2e/program"
)

func main() {
	program.Main(func(_ context.Context, args []string) error { return run(args, os.Stdout) }, program.Plain)
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("charts", flag.ContinueOnError)
	root := flags.String("root", "..", "root folder of the repository")
	version := flags.String("version", "", "version of the release, such as v2.0.0")
	out := flags.String("out", "", "folder that gets the packed charts")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	if *version == "" || *out == "" {
		return fmt.Errorf("say --version and --out")
	}
	for _, name := range charts.Names() {
		file, err := charts.Pack(*root, name, *version, *out)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(stdout, file); err != nil {
			return err
		}
	}
	return nil
}
