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

	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/e2e/vulncheck"
)

// runVulncheck runs subcommand vulncheck.
func runVulncheck(ctx context.Context, args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("e2e vulncheck", flag.ContinueOnError)
	root := flags.String("root", "..", "Root directory of the repository.")
	modules := flags.String("modules", "", "Space-separated directories of the modules whose programs are scanned.")
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	found, err := vulncheck.Scan(ctx, *root, strings.Fields(*modules))
	if err != nil {
		return err
	}
	if err := vulncheck.Check(found, time.Now()); err != nil {
		return fmt.Errorf("programs have known vulnerabilities:\n%w", err)
	}
	_, err = fmt.Fprintln(stdout, "No program has a known vulnerability")
	return err
}
