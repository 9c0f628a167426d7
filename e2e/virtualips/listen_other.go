// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package virtualips

import (
	"context"
	"errors"
	"net"
)

// ListenDHCP is for Linux, where a network of Docker's is a network card of this machine.
func ListenDHCP(context.Context, string) (net.PacketConn, error) { return nil, errors.ErrUnsupported }
