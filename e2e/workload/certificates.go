// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/secret"
)

// authority is a certificate authority that the control plane provider created.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// authorityFrom reads an authority from its Secret of the control plane provider.
func authorityFrom(s *corev1.Secret) (*authority, error) {
	for _, key := range []string{secret.TLSCrtDataName, secret.TLSKeyDataName} {
		if len(s.Data[key]) == 0 {
			return nil, fmt.Errorf("secret %s/%s has no %s: clusters with external authorities, for example for an external etcd, cannot be simulated",
				s.Namespace, s.Name, key)
		}
	}
	certificate, err := certs.DecodeCertPEM(s.Data[secret.TLSCrtDataName])
	if err != nil {
		return nil, fmt.Errorf("reading %s of secret %s/%s: %w", secret.TLSCrtDataName, s.Namespace, s.Name, err)
	}
	key, err := certs.DecodePrivateKeyPEM(s.Data[secret.TLSKeyDataName])
	if err != nil {
		return nil, fmt.Errorf("reading %s of secret %s/%s: %w", secret.TLSKeyDataName, s.Namespace, s.Name, err)
	}
	return &authority{certificate: certificate, key: key}, nil
}

// pem returns the authority's certificate in the format of kubeconfigs.
func (a *authority) pem() []byte { return certs.EncodeCertPEM(a.certificate) }

// apiServer issues the serving certificate of the API server at host. It has kubeadm's name, because the control plane provider reads the
// expiry date of that certificate.
func (a *authority) apiServer(host string) (*tls.Certificate, error) {
	names := certs.AltNames{
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default"},
		IPs:      []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		names.IPs = append(names.IPs, ip)
	} else {
		names.DNSNames = append(names.DNSNames, host)
	}
	return a.issue(certs.Config{CommonName: "kube-apiserver", AltNames: names, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

// etcd issues the serving certificate of one etcd pod.
func (a *authority) etcd(pod string) (*tls.Certificate, error) {
	return a.issue(certs.Config{
		CommonName: pod, AltNames: certs.AltNames{DNSNames: []string{pod, "localhost"}},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// administrator issues a client certificate for the cluster's administrator.
func (a *authority) administrator() (*tls.Certificate, error) {
	return a.issue(certs.Config{
		CommonName: "kubernetes-admin", Organization: []string{"system:masters"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) issue(config certs.Config) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key for %s: %w", config.CommonName, err)
	}
	certificate, err := config.NewSignedCert(key, a.certificate, a.key)
	if err != nil {
		return nil, fmt.Errorf("issuing a certificate for %s: %w", config.CommonName, err)
	}
	return &tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate}, nil
}
