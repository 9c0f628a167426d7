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
	"sync"
	"time"
)

const (
	// quotedLines is the number of last lines of a failed command's output that its error contains.
	quotedLines = 20
	// stopGrace is the time that an interrupted command gets to exit.
	stopGrace = 10 * time.Second
)

// Runner runs commands one after the other.
type Runner struct {
	// Log receives every command line and the command's output, except standard output that is redirected.
	Log io.Writer
	// Env is added to the environment of this process.
	Env []string
}

// Streams are the standard input and output of a command.
type Streams struct {
	In  io.Reader
	Out io.Writer
}

// Run runs a command and returns its standard output.
func (r Runner) Run(ctx context.Context, name string, args ...string) (string, error) {
	var out strings.Builder
	r.Log = &sharedLog{to: r.log()}
	err := r.Stream(ctx, Streams{Out: io.MultiWriter(&out, r.log())}, name, args...)
	return out.String(), err
}

// Stream runs a command with the given streams.
func (r Runner) Stream(ctx context.Context, s Streams, name string, args ...string) error {
	log := &sharedLog{to: r.log()}
	_, _ = fmt.Fprintf(log, "$ %s\n", line(name, args))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), r.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopGrace
	var said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, io.MultiWriter(&said, log)
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

// sharedLog is a log that a command's standard output and standard error write to at the same time.
type sharedLog struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// line formats a command as a user would type it.
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
