// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command e2e runs the providers from outside: each subcommand has a file here. Command binaries makes the programs that tests need
// before anything else is compiled.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/faultline-io/faultline/e2e/demo"
	"github.com/faultline-io/faultline/e2e/tool"
)

// subcommand is selected by the first argument.
type subcommand struct {
	name, does string
	run        func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func subcommands() []subcommand {
	return []subcommand{
		{"demo", "runs a cluster over failure domains while a domain breaks and is repaired", runDemo},
		{"bench", "measures the costs of a provider's manager", runBench},
		{"storm", "kills a provider's manager at random moments and checks for lost resources", runChaos},
		{"kind", "creates a kind cluster with Cluster API, the providers and their simulators", runKind},
		{"release", "writes the release files for clusterctl, kubectl and helm", runRelease},
		{"vulncheck", "fails if a program of the repository has a known vulnerability", runVulncheck},
		{"docs", "builds the documentation site and serves it on request", runDocs},
	}
}

func main() {
	tool.Main(func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout, os.Stderr) }, demo.Explain)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var list strings.Builder
	for _, one := range subcommands() {
		if len(args) > 0 && args[0] == one.name {
			return one.run(ctx, args[1:], stdout, stderr)
		}
		_, _ = fmt.Fprintf(&list, "  %-10s %s\n", one.name, one.does)
	}
	return errors.New("a subcommand is required: e2e SUBCOMMAND [flags], --help lists the flags\n" + strings.TrimSuffix(list.String(), "\n"))
}
