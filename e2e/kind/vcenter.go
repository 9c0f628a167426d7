// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// vcenterTimeout is how long the simulated vCenter may take to start.
const vcenterTimeout = 30 * time.Second

// describeVCenter waits until the simulated vCenter has said what cluster templates
// need to know about it.
func (e *Environment) describeVCenter(ctx context.Context, log io.Writer) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, vcenterTimeout)
	defer cancel()
	tick := time.NewTicker(vcenterTimeout / 100)
	defer tick.Stop()
	for {
		said, err := e.docker(log).Run(ctx, "logs", e.vcenter())
		if variables := variables(said); err == nil && complete(variables) {
			return variables, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the simulated vCenter (container %s) does not start: %w", e.vcenter(), ctx.Err())
		case <-tick.C:
		}
	}
}

// variables reads NAME=value lines; others are passed over.
func variables(said string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(said) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.ContainsAny(name, " \t") {
			found[name] = value
		}
	}
	return found
}

// complete tells whether the last variable that the simulator writes is there.
func complete(variables map[string]string) bool { return variables["VSPHERE_ZONE_C_NETWORK"] != "" }
