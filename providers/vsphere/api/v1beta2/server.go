// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// SameServer reports whether two values of spec.server name one vCenter: host, host:port or the URL of its API. What names no server is the same as
// nothing, not even as itself.
func SameServer(a, b string) bool {
	address := ServerAddress(a)
	return address != "" && address == ServerAddress(b)
}

// ServerAddress returns a value of spec.server in its one spelling: lower case, with a port only if that is not 443, and nothing else of a URL.
// It is empty if the value names no server.
func ServerAddress(server string) string {
	if strings.IndexFunc(server, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		return "" // some of these are ASCII in lower case, or to a resolver
	}
	server = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(server), "https://"), "/")
	host, port := strings.TrimSuffix(server, "/sdk"), uint64(defaultPort)
	if _, p, err := net.SplitHostPort(host); err == nil {
		if port, err = strconv.ParseUint(p, 10, 16); err != nil || port == 0 {
			return ""
		}
		host = strings.TrimSuffix(host, ":"+p)
	}
	if host = canonical(host); host == "" || port == defaultPort {
		return host
	}
	return host + ":" + strconv.FormatUint(port, 10)
}

const defaultPort = 443

// canonical is the one spelling of a host in lower case, with the brackets that an IPv6 address has in a URL, or empty if it is no host. Zones of
// addresses are of one machine, and may be any text. Resolvers take an underscore where a hyphen may be, and a dot after an absolute name.
func canonical(host string) string {
	inside, bracketed := host, strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]")
	if bracketed {
		inside = host[1 : len(host)-1]
	}
	ip, err := netip.ParseAddr(inside)
	switch {
	case err == nil && ip.Is6() && ip.Zone() == "":
		return "[" + ip.String() + "]"
	case bracketed, err == nil && !ip.Is4():
		return ""
	case len(validation.IsDNS1123Subdomain(strings.ReplaceAll(strings.TrimSuffix(host, "."), "_", "-"))) > 0:
		return ""
	}
	return host
}
