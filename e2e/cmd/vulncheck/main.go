// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command vulncheck fails when a program of the repository has code with a known vulnerability.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/program"
	"github.com/faultline-io/faultline/e2e/vulncheck"
)

func main() {
	program.Main(func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout) }, program.Plain)
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("vulncheck", flag.ContinueOnError)
	root := flags.String("root", "..", "root folder of the repository")
	modules := flags.String("modules", "", "folders of the modules whose programs are looked at, separated by spaces")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	found, err := vulncheck.Scan(ctx, *root, strings.Fields(*modules))
	if err != nil {
		return err
	}
	if err := vulncheck.Judge(found, time.Now()); err != nil {
		return fmt.Errorf("code with known vulnerabilities is linked:\n%w", err)
	}
	_, err = fmt.Fprintln(stdout, "No program has code with a known vulnerability")
	return err
}
