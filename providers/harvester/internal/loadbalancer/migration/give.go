// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"net/netip"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// Give calls the Allocator once the migration has finished.
func (m *Migration) Give(ctx context.Context, pool, id string, addr netip.Addr) error {
	select {
	case <-m.done:
		return m.Addresses.Give(ctx, pool, id, addr)
	case <-ctx.Done():
		return fmt.Errorf("waiting for the migration of addresses: %w", ctx.Err())
	}
}

// Entitles calls the Allocator once the migration has finished.
func (m *Migration) Entitles(ctx context.Context, pool *lbv1.IPPool, lb *lbv1.LoadBalancer) (bool, error) {
	select {
	case <-m.done:
		return m.Addresses.Entitles(ctx, pool, lb)
	case <-ctx.Done():
		return false, fmt.Errorf("waiting for the migration of addresses: %w", ctx.Err())
	}
}
