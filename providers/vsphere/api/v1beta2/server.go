// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// SameServer reports whether two values of spec.server refer to the same vCenter. A value is a host, host:port or the URL of
// the API. An invalid value equals nothing, not even itself.
func SameServer(a, b string) bool {
	address := ServerAddress(a)
	return address != "" && address == ServerAddress(b)
}

// HasServer reports whether one of the servers is the same vCenter as server, as SameServer does.
func HasServer(servers []string, server string) bool {
	return slices.ContainsFunc(servers, func(one string) bool { return SameServer(one, server) })
}

// ServerAddress returns the canonical form of a value of spec.server: lower case, with a port only if it is not 443, and
// without other parts of a URL. It returns "" if the value is invalid.
func ServerAddress(server string) string {
	if strings.IndexFunc(server, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		return "" // some of these become ASCII in lower case, or in a resolver
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

// canonical returns the canonical form of a lower-case host, with the brackets that an IPv6 address has in a URL, or "" if it
// is invalid. Address zones are rejected, as they are local to a machine and may be any text. Resolvers accept underscores in
// place of hyphens, and a dot after an absolute name.
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
