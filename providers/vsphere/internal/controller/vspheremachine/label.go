// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// hostLabel returns a label value for the name of a host in vCenter, which is its domain name or address. If the name is too
// long, trailing domain labels are removed. The colons of an IPv6 address become hyphens.
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

// closed adds a zero at an open end of an IPv6 address, because a label value must begin and end with an alphanumeric
// character.
func closed(address string) string {
	if strings.HasPrefix(address, ":") {
		address = "0" + address
	}
	if strings.HasSuffix(address, ":") {
		address += "0"
	}
	return address
}
