// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// Main runs a command until it is done or interrupted. It prints an error as formatted by explain, and sets the exit status. Requested
// help is not a failure.
func Main(run func(ctx context.Context, args []string) error, explain func(error) string) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it.
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	err := run(ctx, os.Args[1:])
	stop()
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, explain(err))
	os.Exit(1)
}

// PrintVariables prints variables, sorted, as one NAME=value on each line.
func PrintVariables(w io.Writer, variables map[string]string) error {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		fmt.Fprintf(&lines, "%s=%s\n", name, variables[name])
	}
	_, err := io.WriteString(w, lines.String())
	return err
}

// PlainError formats an error as its message.
func PlainError(err error) string { return "Error: " + err.Error() }
