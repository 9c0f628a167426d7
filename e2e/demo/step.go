// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"time"
)

// step is one step of the demo, which must succeed.
type step struct {
	name  string
	limit time.Duration
	run   func(ctx context.Context) error
}

// StepError is the error of a failed step.
type StepError struct {
	// Step is the name of the step.
	Step string
	// Diagnosis lists the objects with findings; "" if unknown.
	Diagnosis string
	// Logs is the folder with the logs.
	Logs string
	Err  error
}

// Error returns the step and the cause, without the diagnosis.
func (e *StepError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// within runs the step within its time limit.
func (s step) within(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("timed out after %s", s.limit))
	defer cancel()
	return s.run(ctx)
}
