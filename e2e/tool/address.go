// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"net"
)

// ReachableAddress adds a host to an address without one, because both a certificate and the server's own URL need a single address.
func ReachableAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "" {
		return address, err
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return net.JoinHostPort(network.IP.String(), port), nil
		}
	}
	return "", errors.New("this machine has no address that other machines reach: set one with --listen")
}
