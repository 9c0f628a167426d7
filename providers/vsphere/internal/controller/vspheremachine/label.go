// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// hostLabel makes a label's value of the name under which vCenter has a host: its domain name or its address. A name that is
// too long loses its domain from the end, an IPv6 address has hyphens for colons.
func hostLabel(host string) string {
	if address, err := netip.ParseAddr(host); err == nil && address.Is6() {
		host = address.WithZone("").String()
		if strings.HasPrefix(host, ":") {
			host = "0" + host
		}
		if strings.HasSuffix(host, ":") {
			host += "0"
		}
	}
	for len(host) > validation.LabelValueMaxLength && strings.Contains(host, ".") {
		host = host[:strings.LastIndex(host, ".")]
	}
	label := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, host)
	return strings.Trim(label[:min(len(label), validation.LabelValueMaxLength)], "-_.")
}
