// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

// neighbourVMs is how many VMs each of two vCenters gets.
const neighbourVMs = 20

// neighbour is one of several vCenters, with a cluster on it.
type neighbour struct{ *setup }

// newNeighbour starts a vCenter that answers late, and waits until its zones are ready.
func newNeighbour(ctx context.Context, e *benchmark.Environment, name string, delay time.Duration) (benchmark.Neighbour, error) {
	w, err := scenario{e}.setUp(ctx, name)
	if err != nil {
		return nil, err
	}
	w.vcenter.SetDelay(delay)
	return neighbour{w}, w.zonesReady(ctx)
}

// Prepare implements benchmark.Neighbour.
func (n neighbour) Prepare(ctx context.Context, _ int) (func(context.Context) error, error) {
	all, err := n.prepare(ctx, neighbourVMs)
	return func(ctx context.Context) error {
		_, err := n.provision(ctx, all)
		return err
	}, err
}
