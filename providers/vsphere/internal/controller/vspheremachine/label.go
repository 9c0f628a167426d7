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
		host = closed(address.WithZone("").String())
	}
	for len(host) > validation.LabelValueMaxLength && strings.Contains(host, ".") {
		host = host[:strings.LastIndex(host, ".")]
	}
	label := strings.Map(func(r rune) rune {
		if strings.ContainsRune(labelLetters, r) {
			return r
		}
		return '-'
	}, host)
	return strings.Trim(label[:min(len(label), validation.LabelValueMaxLength)], "-_.")
}

const labelLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// closed writes the zero at an open end of an IPv6 address, because a label begins and ends with a letter or digit.
func closed(address string) string {
	if strings.HasPrefix(address, ":") {
		address = "0" + address
	}
	if strings.HasSuffix(address, ":") {
		address += "0"
	}
	return address
}
