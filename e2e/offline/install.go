// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/faultline-io/faultline/e2e/tool"
)

const (
	// InstallVariable allows installing missing Debian packages on this machine if it is 1. CI=true allows it as well.
	InstallVariable = "FAULTLINE_INSTALL"
	ciVariable      = "CI"
)

// install installs Debian packages non-interactively, only if that is allowed.
func install(ctx context.Context, run tool.Runner, packages ...string) error {
	if os.Getenv(InstallVariable) != "1" && os.Getenv(ciVariable) != "true" {
		return fmt.Errorf("this machine lacks %[1]s: run apt-get install %[1]s, "+
			"or run make with INSTALL=1 to install it (%[2]s=1, or %[3]s=true)", strings.Join(packages, " "), InstallVariable, ciVariable)
	}
	run.Env = append(run.Env, "DEBIAN_FRONTEND=noninteractive")
	if _, err := run.Run(ctx, "apt-get", "update"); err != nil {
		return err
	}
	_, err := run.Run(ctx, "apt-get", append([]string{"install", "--yes", "--no-install-recommends"}, packages...)...)
	return err
}
