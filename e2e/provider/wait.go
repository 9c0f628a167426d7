// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WithConditions is an object that reports conditions.
type WithConditions interface {
	client.Object
	GetConditions() []metav1.Condition
}

// Await reads an object until it is done. When ctx ends, the error describes what was awaited and has the conditions.
func Await(ctx context.Context, api client.Client, object WithConditions, what string, done func() bool) error {
	err := wait.PollUntilContextCancel(ctx, PollInterval, true, func(ctx context.Context) (bool, error) {
		err := api.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err == nil && done(), err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w%s", what, Because(ctx, err), Explain(object.GetConditions()))
	}
	return nil
}

// LogFolder creates a folder for the logs of a test.
func LogFolder(of string) (string, error) {
	dir, err := os.MkdirTemp("", "faultline-"+of+"-")
	if err != nil {
		return "", fmt.Errorf("creating a directory for the logs: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

// PollInterval is the poll interval. Each poll of a whole cluster costs an API server some milliseconds.
const PollInterval = 200 * time.Millisecond

// Violation is an error for a broken rule, which ends waiting.
type Violation struct{ Rule string }

func (v *Violation) Error() string { return v.Rule }

// Until calls check until nothing is missing or it returns a Violation. Other errors may be transient, so they count as something
// missing. When ctx ends, the error contains what was missing last.
func Until(ctx context.Context, check func(context.Context) (missing string, err error)) error {
	missing := "everything"
	err := wait.PollUntilContextCancel(ctx, 2*PollInterval, true, func(ctx context.Context) (bool, error) {
		now, err := check(ctx)
		var broken *Violation
		switch {
		case errors.As(err, &broken):
			return false, err
		case err == nil && now == "":
			return true, nil
		case err == nil:
			missing = now
		case ctx.Err() == nil:
			missing = err.Error()
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w; still missing: %s", context.Cause(ctx), missing)
	}
	return err
}
