// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"net/netip"
)

// Give is the Allocator's, once everything has been taken over.
func (m *Migration) Give(ctx context.Context, pool, id string, addr netip.Addr) error {
	select {
	case <-m.done:
		return m.Addresses.Give(ctx, pool, id, addr)
	case <-ctx.Done():
		return fmt.Errorf("waiting until addresses have been taken over: %w", ctx.Err())
	}
}
