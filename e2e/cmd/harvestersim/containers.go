// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/machinecontainers"
	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// containers configures the containers that virtual machines boot as. Without a prefix, none boot.
type containers struct{ prefix, image, label, network string }

func (c containers) options(log io.Writer) []simulator.Option {
	if c.prefix == "" {
		return nil
	}
	guests := machinecontainers.GuestContainers{Prefix: c.prefix, Image: c.image, Containers: machinecontainers.Containers{
		Docker: docker.Docker{Runner: tool.Runner{Log: log}}, Label: c.label, Network: c.network,
	}}
	return []simulator.Option{simulator.WithHooks(guests.Hooks())}
}
