// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/faultline-io/faultline/shared/ports"
)

const (
	certificateLife = 7 * 24 * time.Hour
	// loopback is the only address that anything of the cluster listens on.
	loopback = ports.Host

	certificateBlock = "CERTIFICATE"
	keyBlock         = "EC PRIVATE KEY"
)

// authority is the cluster's own certificate authority: it signs what the API
// server and the webhooks serve with, and the certificate of its administrator.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// pair is a certificate and its key, in PEM.
type pair struct{ certificate, key []byte }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := validNow(pkix.Name{CommonName: "faultline-demo"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: key, pem: encode(certificateBlock, der)}, nil
}

func validNow(subject pkix.Name) *x509.Certificate {
	// Certificates only need to differ in their number; 64 random bits do.
	number, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	return &x509.Certificate{
		SerialNumber: number,
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(certificateLife),
	}
}

// serving issues a certificate for servers on the loopback address.
func (a *authority) serving(name string) (pair, error) {
	template := validNow(pkix.Name{CommonName: name})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.ParseIP(loopback)}
	return a.issue(template)
}

// client issues a certificate for a user in one group.
func (a *authority) client(user, group string) (pair, error) {
	template := validNow(pkix.Name{CommonName: user, Organization: []string{group}})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("issuing a certificate for %s: %w", template.Subject.CommonName, err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{certificate: encode(certificateBlock, der), key: encode(keyBlock, keyDER)}, nil
}

func encode(block string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der})
}

// write puts the pair into a folder under the names that controller-runtime's
// webhook server looks for.
func (p pair) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), p.certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tls.key"), p.key, 0o600)
}
