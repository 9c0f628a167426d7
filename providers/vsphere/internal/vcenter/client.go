// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

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
			return vcerrors.Verify(thumbprint, state.PeerCertificates)
		},
	}
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
