// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Lengths of certificate fingerprints, in bytes.
const (
	sha1Bytes   = 20
	sha256Bytes = 32
)

// validateServer requires the host or host:port of a vCenter, or its URL. Servers of zones and clusters are compared as
// strings.
func validateServer(server string, path *field.Path) field.ErrorList {
	host := server
	if address, isURL := strings.CutPrefix(server, "https://"); isURL {
		host = strings.TrimSuffix(address, "/sdk")
	}
	if server == "" || isHostPort(host) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, server,
		"must be the host name or address of a vCenter, with a port if it is not 443, such as vcenter.example.com or 10.0.0.1:8443; "+
			"it may have the scheme https:// and the path /sdk")}
}

// validateHost requires the host or host:port of a vCenter.
func validateHost(server string, path *field.Path) field.ErrorList {
	if isHostPort(server) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, server,
		"must be the host name or address of a vCenter, with a port if it is not 443, such as vcenter.example.com or 10.0.0.1:8443; without scheme and path")}
}

func isHostPort(server string) bool {
	return !strings.Contains(server, "/") && infrav1.ServerAddress(server) != ""
}

// validateThumbprint requires a SHA-1 or SHA-256 fingerprint in hexadecimal pairs.
func validateThumbprint(thumbprint string, path *field.Path) field.ErrorList {
	if thumbprint == "" || isFingerprint(thumbprint) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, thumbprint,
		"must be the SHA-1 or SHA-256 fingerprint of the vCenter's certificate, 20 or 32 hexadecimal pairs with colons between them; "+
			"openssl x509 -fingerprint shows it")}
}

func isFingerprint(thumbprint string) bool {
	pairs := strings.Split(thumbprint, ":")
	if len(pairs) != sha1Bytes && len(pairs) != sha256Bytes {
		return false
	}
	for _, pair := range pairs {
		if _, err := strconv.ParseUint(pair, 16, 8); err != nil || len(pair) != 2 {
			return false
		}
	}
	return true
}
