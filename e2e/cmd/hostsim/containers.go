// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/machinecontainers"
	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// containers configures the containers that hosts boot as. Without a prefix, none boot.
type containers struct{ prefix, label, network string }

func (c containers) options(ctx context.Context, log io.Writer) ([]simulator.Option, error) {
	if c.prefix == "" {
		return nil, nil
	}
	bodies, err := machinecontainers.OpenHosts(ctx, docker.Docker{Runner: tool.Runner{Log: log}}, c.prefix, c.label, c.network)
	if err != nil {
		return nil, err
	}
	return []simulator.Option{simulator.WithHooks(bodies.Hooks()), simulator.WithInventory(bodies.Inventory)}, nil
}
