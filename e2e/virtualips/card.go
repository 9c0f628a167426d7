// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualips

import (
	"context"
	"net/netip"

	"github.com/faultline-io/faultline/e2e/tool"
)

// Device is a network card of this machine by its name. It is configured with program ip.
type Device struct {
	Name string
	Run  tool.Runner
}

// Take implements Card.
func (d Device) Take(ctx context.Context, address netip.Addr) error {
	_, err := d.Run.Run(ctx, "ip", "address", "replace", single(address), "dev", d.Name)
	return err
}

// Drop implements Card.
func (d Device) Drop(ctx context.Context, address netip.Addr) error {
	_, err := d.Run.Run(ctx, "ip", "address", "delete", single(address), "dev", d.Name)
	return err
}

// single returns the prefix of a single address.
func single(address netip.Addr) string { return netip.PrefixFrom(address, address.BitLen()).String() }
