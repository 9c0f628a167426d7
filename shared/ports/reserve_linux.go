// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ports

import (
	"os"
	"syscall"
)

// socket is a bound socket that does not listen.
type socket int

func (s socket) Close() error { return syscall.Close(int(s)) }

// reserve binds a socket to a port, any for 0, to which no other socket is bound. The kernel does not assign that port to any
// other listener or connection. A program that explicitly binds it can share it, because the socket is then set to allow reuse
// and never listens; servers written in Go also allow reuse.
func reserve(port int) (hold, int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, 0, os.NewSyscallError("socket", err)
	}
	number, err := bind(fd, port)
	if err != nil {
		_ = syscall.Close(fd)
		return nil, 0, err
	}
	return socket(fd), number, nil
}

func bind(fd, port int) (int, error) {
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return address.(*syscall.SockaddrInet4).Port, nil
}
