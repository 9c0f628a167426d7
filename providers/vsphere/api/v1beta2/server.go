// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"net"
	"strings"
)

// SameServer reports whether two values of spec.server name one vCenter: host, host:port or the URL of its API.
func SameServer(a, b string) bool { return address(a) == address(b) }

// address returns a server in one spelling: lower case, with its port, and nothing else of a URL.
func address(server string) string {
	server = strings.TrimSuffix(strings.TrimPrefix(server, "https://"), "/sdk")
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		host, port = strings.Trim(server, "[]"), "443"
	}
	return net.JoinHostPort(strings.ToLower(host), port)
}
