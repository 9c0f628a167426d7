// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
	"github.com/faultline-io/faultline/shared/remote/bounded"
)

// newClient returns a client without calling vCenter.
func newClient(ep Endpoint, opts *Options) (*vim25.Client, error) {
	u, err := soap.ParseURL(bracketed(ep.Server))
	if err != nil {
		return nil, fmt.Errorf("%w: server %q must be host or host:port", vcerrors.ErrInvalid, ep.Server)
	}
	u.User = nil
	wire := soap.NewClient(u, true)
	wire.Namespace, wire.Version, wire.UserAgent = "urn:"+vim25.Namespace, vim25.Version, opts.UserAgent
	dialer := wire.DefaultTransport()
	dialer.MaxIdleConnsPerHost = transport.MaxCalls + 1 // a handshake costs more than most calls
	dialer.DialTLSContext = nil                         // govmomi's ignores its context
	dialer.TLSClientConfig = trust(ep.Thumbprint, u.Hostname(), opts)
	wire.Transport = opts.bounded(dialer)
	return &vim25.Client{Client: wire, RoundTripper: transport.MeterSOAP(wire, opts.report(ep.Server))}, nil
}

// bracketed returns server with the brackets that an IPv6 address needs in a URL.
func bracketed(server string) string {
	host := strings.TrimSuffix(strings.TrimPrefix(server, "https://"), "/sdk")
	if address, err := netip.ParseAddr(host); err == nil && address.Is6() && address.Zone() == "" {
		return "[" + host + "]"
	}
	return server
}

// trust returns the TLS configuration that accepts certificates signed by an authority that the system trusts, and the
// certificate with the thumbprint.
func trust(thumbprint, host string, opts *Options) *tls.Config {
	if thumbprint == "" {
		return &tls.Config{RootCAs: opts.Authorities, InsecureSkipVerify: opts.SkipVerify} //nolint:gosec // a choice of the administrator
	}
	return &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // it is verified below
		VerifyConnection: func(state tls.ConnectionState) error {
			if vouchedFor(state.PeerCertificates, host, opts.Authorities) {
				return nil
			}
			return vcerrors.Verify(thumbprint, state.PeerCertificates)
		},
	}
}

// vouchedFor reports whether one of the authorities (nil for the system's) signed the certificate chain for host.
func vouchedFor(chain []*x509.Certificate, host string, authorities *x509.CertPool) bool {
	if len(chain) == 0 {
		return false
	}
	options := x509.VerifyOptions{DNSName: host, Roots: authorities, Intermediates: x509.NewCertPool()}
	for _, certificate := range chain[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err := chain[0].Verify(options)
	return err == nil
}

// bounded limits the size of the responses that next returns to Options.MaxAnswer.
func (o *Options) bounded(next http.RoundTripper) http.RoundTripper {
	return bounded.RoundTripper(next, o.MaxAnswer)
}

// report returns the transport.Report that passes a server's calls to Options.OnCall.
func (o *Options) report(server string) transport.Report {
	return func(method string, d time.Duration, err error) { o.OnCall(server, method, d, err) }
}
