// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"net"
)

// ReachableAddress completes an address without a host: a certificate is for one address,
// and so is the server's own idea of where it is.
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
	return "", errors.New("this machine has no address that others reach: give one to --listen")
}
