// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"fmt"
	"net"
)

// ReachableAddress adds a host to an address without one, because both a certificate and the server's own URL need a single address.
func ReachableAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "" {
		return address, err
	}
	own, err := OwnAddress()
	if err != nil {
		return "", fmt.Errorf("%w: set one with --listen", err)
	}
	return net.JoinHostPort(own.String(), port), nil
}

// OwnAddress returns the first IPv4 address of this machine that other machines reach.
func OwnAddress() (net.IP, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return network.IP.To4(), nil
		}
	}
	return nil, errors.New("this machine has no address that other machines reach")
}
