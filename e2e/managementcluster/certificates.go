// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/cluster-api/util/certs"

	"github.com/faultline-io/faultline/shared/ports"
)

// authority is the cluster's own certificate authority. It signs the serving certificates of the API server and the webhooks, and the
// administrator's certificate.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

// pair is a certificate and its key in PEM.
type pair struct{ certificate, key []byte }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "faultline-demo"}, key)
	if err != nil {
		return nil, fmt.Errorf("creating a certificate authority: %w", err)
	}
	return &authority{certificate: certificate, key: key, pem: certs.EncodeCertPEM(certificate)}, nil
}

// serving issues a certificate for servers on the loopback address.
func (a *authority) serving(name string) (pair, error) {
	return a.issue(certs.Config{
		CommonName: name, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		AltNames: certs.AltNames{DNSNames: []string{"localhost"}, IPs: []net.IP{net.ParseIP(ports.Host)}},
	})
}

// client issues a certificate for a user in one group.
func (a *authority) client(user, group string) (pair, error) {
	return a.issue(certs.Config{CommonName: user, Organization: []string{group}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func (a *authority) issue(config certs.Config) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	certificate, err := config.NewSignedCert(key, a.certificate, a.key)
	if err != nil {
		return pair{}, fmt.Errorf("issuing a certificate for %s: %w", config.CommonName, err)
	}
	encoded, err := certs.EncodePrivateKeyPEMFromSigner(key)
	return pair{certificate: certs.EncodeCertPEM(certificate), key: encoded}, err
}

// write writes the pair into a folder with the file names of controller-runtime's webhook server.
func (p pair) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), p.certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tls.key"), p.key, 0o600)
}
