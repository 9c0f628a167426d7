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
	root := flags.String("root", "..", "root folder of the repository")
	modules := flags.String("modules", "", "folders of the modules whose programs are looked at, separated by spaces")
	if err := tool.ParseFlags(flags, args); err != nil {
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
