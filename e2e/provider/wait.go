// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

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
