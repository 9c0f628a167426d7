// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// quotedLines of what a failed command wrote last are part of its error.
	quotedLines = 8
	// stopGrace is how long a command may take to end after it was asked to.
	stopGrace = 10 * time.Second
)

// Runner runs commands one after the other.
type Runner struct {
	// Log receives every command line and what the command writes, save for
	// standard output that goes somewhere else.
	Log io.Writer
	// Env is added to the environment of this process.
	Env []string
}

// Streams are what a command reads and where it writes.
type Streams struct {
	In  io.Reader
	Out io.Writer
}

// Run runs a command and answers what it wrote to standard output.
func (r Runner) Run(ctx context.Context, name string, args ...string) (string, error) {
	var out strings.Builder
	err := r.Stream(ctx, Streams{Out: io.MultiWriter(&out, r.log())}, name, args...)
	return out.String(), err
}

// Stream runs a command with the given streams.
func (r Runner) Stream(ctx context.Context, s Streams, name string, args ...string) error {
	_, _ = fmt.Fprintf(r.log(), "$ %s\n", line(name, args))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), r.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopGrace
	var said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, io.MultiWriter(&said, r.log())
	if s.Out == nil {
		cmd.Stdout = cmd.Stderr
	}
	if err := cmd.Run(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%s: %w%s", line(name, args), err, quote(said.String())))
	}
	return nil
}

func (r Runner) log() io.Writer {
	if r.Log == nil {
		return io.Discard
	}
	return r.Log
}

// line is a command as it would be typed.
func line(name string, args []string) string {
	words := []string{name}
	for _, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'$*?|&;<>(){}[]`\\") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

func quote(said string) string {
	said = strings.TrimSpace(said)
	if said == "" {
		return ""
	}
	lines := strings.Split(said, "\n")
	return "\n  " + strings.Join(lines[max(0, len(lines)-quotedLines):], "\n  ")
}
