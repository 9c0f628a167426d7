// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// step is one step with its own log. A step skips work that is already done, so the next run continues an interrupted one.
type step struct {
	name string
	run  func(ctx context.Context, log io.Writer) error
}

// stepper runs steps in order and prints how long each took.
type stepper struct {
	logs  string // the folder of the logs
	out   io.Writer
	clock func() time.Time
}

func (s stepper) run(ctx context.Context, steps []step) error {
	if err := os.MkdirAll(s.logs, 0o755); err != nil {
		return err
	}
	began := s.clock()
	for _, next := range steps {
		if err := s.one(ctx, next); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(s.out, "%-36s %8s\n", "in all", seconds(s.clock().Sub(began)))
	return nil
}

func (s stepper) one(ctx context.Context, next step) error {
	path := filepath.Join(s.logs, strings.ReplaceAll(next.name, " ", "-")+".log")
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	began := s.clock()
	if err := next.run(ctx, log); err != nil {
		_, _ = fmt.Fprintln(log, "Error:", err)
		return fmt.Errorf("step %q: %w\nThe log of this step is %s", next.name, err, path)
	}
	_, _ = fmt.Fprintf(s.out, "%-36s %8s\n", next.name, seconds(s.clock().Sub(began)))
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
