// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ports

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports that operating systems do not use for outgoing connections.
const (
	lowest  = 20000
	highest = 29999
)

// nothing does not reserve the port: other systems do not let a server listen where a socket is bound.
type nothing struct{}

func (nothing) Close() error { return nil }

// reserve finds a port on which no program listens, any for 0.
func reserve(port int) (hold, int, error) {
	if port == 0 {
		port = lowest + rand.IntN(highest-lowest)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(Host, strconv.Itoa(port))) //nolint:noctx // Listening does not wait.
	if err != nil {
		return nil, 0, err
	}
	return nothing{}, port, listener.Close()
}
