// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// listenDHCP listens for DHCP requests on only one network card.
func listenDHCP(ctx context.Context, card string) (net.PacketConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, connection syscall.RawConn) error {
		var bound error
		err := connection.Control(func(fd uintptr) {
			bound = errors.Join(syscall.BindToDevice(int(fd), card),
				syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_BROADCAST, 1))
		})
		return errors.Join(err, bound)
	}}
	return config.ListenPacket(ctx, "udp4", ":67")
}
