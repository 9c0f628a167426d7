// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"crypto/sha1" //nolint:gosec // vSphere shows SHA-1 thumbprints; a pin in that form must work
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// newClient prepares a client without calling anything.
func newClient(ep Endpoint, opts *Options) (*vim25.Client, error) {
	u, err := soap.ParseURL(ep.Server)
	if err != nil {
		return nil, fmt.Errorf("%w: server %q is not host[:port]", ErrInvalid, ep.Server)
	}
	u.User = nil
	wire := soap.NewClient(u, true)
	wire.Namespace, wire.Version, wire.UserAgent = "urn:"+vim25.Namespace, vim25.Version, opts.UserAgent
	transport := wire.DefaultTransport()
	transport.MaxIdleConnsPerHost = maxCalls + 1 // a handshake costs more than most calls
	transport.DialTLSContext = nil               // govmomi's does not heed a context
	transport.TLSClientConfig = trust(ep.Thumbprint, opts)
	return &vim25.Client{Client: wire, RoundTripper: &meter{wire, ep.Server, opts}}, nil
}

// trust says which certificates of vCenter are accepted: the one that has the thumbprint, else those of an authority that
// the system trusts.
func trust(thumbprint string, opts *Options) *tls.Config {
	if thumbprint == "" {
		return &tls.Config{RootCAs: opts.Authorities, InsecureSkipVerify: opts.SkipVerify} //nolint:gosec // a choice of the administrator
	}
	return &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the thumbprint takes the authority's place, as the API defines it
		VerifyConnection: func(state tls.ConnectionState) error {
			return verify(thumbprint, state.PeerCertificates)
		},
	}
}

type thumbprintError struct{ detail string }

func (e *thumbprintError) Error() string { return e.detail }

func verify(pin string, chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return &thumbprintError{"it shows no certificate"}
	}
	want := plainThumbprint(pin)
	var got string
	switch len(want) {
	case 2 * sha1.Size:
		got = fmt.Sprintf("%X", sha1.Sum(chain[0].Raw)) //nolint:gosec // see the import
	case 2 * sha256.Size:
		got = fmt.Sprintf("%X", sha256.Sum256(chain[0].Raw))
	default:
		return &thumbprintError{fmt.Sprintf("%q is neither a SHA-1 nor a SHA-256 thumbprint", pin)}
	}
	if got != want {
		return &thumbprintError{fmt.Sprintf("expected %s, got %s", colons(want), colons(got))}
	}
	return nil
}

// distrusted says why a certificate is not accepted, and what its thumbprint is.
func distrusted(failure *tls.CertificateVerificationError) string {
	if len(failure.UnverifiedCertificates) == 0 {
		return failure.Err.Error()
	}
	sum := sha256.Sum256(failure.UnverifiedCertificates[0].Raw)
	return fmt.Sprintf("%v: set the thumbprint, after comparing it with the vCenter's (it shows %s), or add its authority to those that the manager trusts",
		failure.Err, colons(fmt.Sprintf("%X", sum)))
}

// plainThumbprint is the one spelling of a thumbprint.
func plainThumbprint(pin string) string {
	return strings.ToUpper(strings.NewReplacer(":", "", " ", "").Replace(pin))
}

func colons(hex string) string {
	var pairs []string
	for i := 0; i+2 <= len(hex); i += 2 {
		pairs = append(pairs, hex[i:i+2])
	}
	return strings.Join(pairs, ":")
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
	if action := req.URL.Query().Get("~action"); action != "" {
		method += "?~action=" + action
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
		}
	}
	return strings.Join(parts, "/")
}
