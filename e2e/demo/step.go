// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"time"
)

// step is one thing that happens in the demo and that must turn out well.
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

// within bounds a step.
func (s step) within(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("gave up after %s", s.limit))
	defer cancel()
	return s.run(ctx)
}
