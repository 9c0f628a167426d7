// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// checkEvery is how often a step looks whether what it waits for has come. Every look
// costs the API server of the playground some milliseconds.
const checkEvery = 400 * time.Millisecond

// step is one thing that happens in the story and that must turn out well.
type step struct {
	name  string
	limit time.Duration
	run   func(ctx context.Context) error
}

// StepError is a step that did not turn out well.
type StepError struct {
	// Step is its name.
	Step string
	// Diagnosis lists the objects that are not as they should be; "" when nothing
	// is known.
	Diagnosis string
	// Logs is the folder with the logs.
	Logs string
	Err  error
}

// Error says which step failed and why; the rest is for those who look closer.
func (e *StepError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Err) }

// Unwrap gives the reason.
func (e *StepError) Unwrap() error { return e.Err }

// until calls check until it finds nothing missing or a rule violated. Another
// error may pass by itself, so it counts as something missing. When ctx ends, the
// error says what was missing the last time.
func until(ctx context.Context, check func(context.Context) (missing string, err error)) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	missing := "everything"
	for {
		now, err := check(ctx)
		var broken *violation
		switch {
		case errors.As(err, &broken):
			return err
		case err == nil && now == "":
			return nil
		case err == nil:
			missing = now
		case ctx.Err() == nil:
			missing = err.Error()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; still missing: %s", context.Cause(ctx), missing)
		case <-tick.C:
		}
	}
}

// within bounds a step.
func (s step) within(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("gave up after %s", s.limit))
	defer cancel()
	return s.run(ctx)
}
