// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualips

import (
	"context"
	"net/netip"

	"github.com/faultline-io/faultline/e2e/tool"
)

// Card is a network card of this machine by its name. It is configured with program ip.
type Card struct {
	Name string
	Run  tool.Runner
}

// take adds an address. The card may have it already.
func (c Card) take(ctx context.Context, address netip.Addr) error {
	return c.change(ctx, "replace", address)
}

// drop undoes take.
func (c Card) drop(ctx context.Context, address netip.Addr) error {
	return c.change(ctx, "delete", address)
}

func (c Card) change(ctx context.Context, how string, address netip.Addr) error {
	_, err := c.Run.Run(ctx, "ip", "address", how, netip.PrefixFrom(address, address.BitLen()).String(), "dev", c.Name)
	return err
}
