// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/calls"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// newClient prepares a client without calling anything.
func newClient(ep Endpoint, opts *Options) (*vim25.Client, error) {
	u, err := soap.ParseURL(ep.Server)
	if err != nil {
		return nil, fmt.Errorf("%w: server %q is not host[:port]", vcerrors.ErrInvalid, ep.Server)
	}
	u.User = nil
	wire := soap.NewClient(u, true)
	wire.Namespace, wire.Version, wire.UserAgent = "urn:"+vim25.Namespace, vim25.Version, opts.UserAgent
	transport := wire.DefaultTransport()
	transport.MaxIdleConnsPerHost = calls.Most + 1 // a handshake costs more than most calls
	transport.DialTLSContext = nil                 // govmomi's does not heed a context
	transport.TLSClientConfig = trust(ep.Thumbprint, u.Hostname(), opts)
	return &vim25.Client{Client: wire, RoundTripper: &meter{wire, ep.Server, opts}}, nil
}

// trust says which certificates of vCenter are accepted: those of an authority that the system trusts, and the one that has the
// thumbprint.
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

// vouchedFor reports whether one of the authorities, nil for the system's, vouches for the certificate of a host.
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

// meter reports every SOAP call.
type meter struct {
	next   soap.RoundTripper
	server string
	opts   *Options
}

// RoundTrip implements soap.RoundTripper.
func (m *meter) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	began := time.Now()
	err := m.next.RoundTrip(ctx, req, res)
	m.opts.OnCall(m.server, strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body"), time.Since(began), err)
	return err
}

// restMeter reports every REST call.
type restMeter struct {
	next   http.RoundTripper
	server string
	opts   *Options
}

// RoundTrip implements http.RoundTripper.
func (m *restMeter) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := m.next.RoundTrip(req)
	method := req.Method + " " + pathTemplate(req.URL.Path)
	for _, key := range []string{"~action", "action"} {
		if action := req.URL.Query().Get(key); action != "" {
			method += "?" + key + "=" + action
		}
	}
	m.opts.OnCall(m.server, method, time.Since(began), err)
	return res, err
}

// pathTemplate takes the identifiers out of a path, which would make a metric per tag.
func pathTemplate(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "id:") {
			parts[i] = "id:{id}"
		} else if len(part) == len(uuid.Nil.String()) && uuid.Validate(part) == nil {
			parts[i] = "{uuid}"
		}
	}
	return strings.Join(parts, "/")
}
