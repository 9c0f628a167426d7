// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcerrors

import (
	"crypto/sha1" //nolint:gosec // vSphere shows SHA-1 thumbprints; a pin in that form must work
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
)

type thumbprintError struct{ detail string }

func (e *thumbprintError) Error() string { return e.detail }

// Verify returns an error if a certificate does not have the thumbprint.
func Verify(pin string, chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return &thumbprintError{"it presented no certificate"}
	}
	want := PlainThumbprint(pin)
	var got string
	switch len(want) {
	case 2 * sha1.Size:
		got = fmt.Sprintf("%X", sha1.Sum(chain[0].Raw)) //nolint:gosec // see the import
	case 2 * sha256.Size:
		got = fmt.Sprintf("%X", sha256.Sum256(chain[0].Raw))
	default:
		return &thumbprintError{fmt.Sprintf("%q must be a SHA-1 or SHA-256 thumbprint", pin)}
	}
	if got != want {
		return &thumbprintError{fmt.Sprintf("expected %s, got %s", colons(want), colons(got))}
	}
	return nil
}

// distrusted returns why a certificate is not accepted, with its thumbprint.
func distrusted(failure *tls.CertificateVerificationError) string {
	if len(failure.UnverifiedCertificates) == 0 {
		return failure.Err.Error()
	}
	sum := sha256.Sum256(failure.UnverifiedCertificates[0].Raw)
	return fmt.Sprintf("%v: verify that the vCenter's thumbprint is %s and set it, or add its certificate authority to those that the manager trusts",
		failure.Err, colons(fmt.Sprintf("%X", sum)))
}

// PlainThumbprint returns the canonical spelling of a thumbprint.
func PlainThumbprint(pin string) string {
	return strings.ToUpper(strings.NewReplacer(":", "", " ", "").Replace(pin))
}

func colons(hex string) string {
	var pairs []string
	for i := 0; i+2 <= len(hex); i += 2 {
		pairs = append(pairs, hex[i:i+2])
	}
	return strings.Join(pairs, ":")
}
