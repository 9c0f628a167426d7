// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kind brings up a kind cluster with Cluster API and our providers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/faultline-io/faultline/e2e/kind"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, _ []string) error {
	environment, err := kind.New(kind.Options{Name: "faultline", Out: os.Stdout})
	if err != nil {
		return err
	}
	return environment.Up(ctx)
}
