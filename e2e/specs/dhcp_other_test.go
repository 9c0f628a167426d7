// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package specs

import (
	"context"
	"errors"
	"net"
)

// listenDHCP requires Linux, where a Docker network is a network card of this machine.
func listenDHCP(context.Context, string) (net.PacketConn, error) { return nil, errors.ErrUnsupported }
