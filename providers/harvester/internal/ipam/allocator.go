// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// Allocator gives addresses of the pools of the cluster that it runs in: one for each manager, which is the one writer there.
type Allocator struct {
	claimer Claimer
	here    Harvester
}

// NewAllocator makes an Allocator that writes with the client and reads with live, which has no cache.
func NewAllocator(writer client.Writer, live client.Reader) *Allocator {
	return &Allocator{here: &here{Writer: writer, live: live}}
}

// here is the cluster that the manager runs in.
type here struct {
	client.Writer
	live client.Reader
}

// Get reads what is stored: a writer that remembers what it wrote needs no cache.
func (h *here) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return h.live.Get(ctx, key, obj, opts...)
}

func (h *here) Live() client.Reader { return h.live }

// Claim gives the holder an address of the pool: the same again when it has one. The error wraps ErrExhausted when none is free, and is
// NotFound when the pool does not exist; of a pool that cannot be read it names the field.
func (a *Allocator) Claim(ctx context.Context, pool, id string) (Claimed, error) {
	claimed := Claimed{Pool: pool}
	err := a.claimer.change(ctx, a.here, pool, func(p *Pool, _ *lbv1.IPPool) (changed bool, err error) {
		claimed.Address, changed, err = p.Get(id)
		return changed, err
	})
	if err != nil {
		return Claimed{}, fmt.Errorf("claiming an address of IPPool %s for %s: %w", pool, id, err)
	}
	return claimed, nil
}

// Release takes the holder's address back. It is nil when the holder has none, or the pool is gone.
func (a *Allocator) Release(ctx context.Context, pool, id string) error {
	return a.claimer.Release(ctx, a.here, []string{pool}, id)
}
