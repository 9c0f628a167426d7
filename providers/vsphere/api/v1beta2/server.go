// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"net"
	"net/netip"
	"strings"
)

// SameServer reports whether two values of spec.server name one vCenter: host, host:port or the URL of its API.
func SameServer(a, b string) bool { return ServerAddress(a) == ServerAddress(b) }

// ServerAddress returns a value of spec.server in its one spelling: lower case, with a port only if that is not 443, and nothing else of a URL.
func ServerAddress(server string) string {
	server = strings.TrimSuffix(strings.TrimPrefix(server, "https://"), "/sdk")
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		host, port = strings.Trim(server, "[]"), "443"
	}
	host = strings.ToLower(host)
	if port != "443" {
		return net.JoinHostPort(host, port)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
		return "[" + host + "]"
	}
	return host
}
