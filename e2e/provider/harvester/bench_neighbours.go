// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"fmt"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
)

// neighbourMachines is how many machines each of two Harvesters gets.
const neighbourMachines = 20

// neighbour is one of several Harvesters, with a cluster on it.
type neighbour struct {
	counted

	env     *benchmark.Environment
	cluster *provider.Cluster
}

// newNeighbour starts a Harvester that answers late as soon as the failure domains of its cluster are known.
func newNeighbour(ctx context.Context, e *benchmark.Environment, name string, delay time.Duration) (benchmark.Neighbour, error) {
	s, cluster, err := start(ctx, e, name)
	if err != nil {
		return nil, err
	}
	s.harvester.Delay(delay)
	return &neighbour{counted{s}, e, cluster}, nil
}

// Prepare implements benchmark.Neighbour.
func (n *neighbour) Prepare(ctx context.Context, round int) (func(context.Context) error, error) {
	all, err := prepare(ctx, n.env, n.cluster, fmt.Sprintf("round-%d", round), neighbourMachines)
	return func(ctx context.Context) error { return provision(ctx, n.env, all) }, err
}
