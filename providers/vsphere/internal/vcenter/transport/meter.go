// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/soap"
)

// Report receives the calls: the SOAP method as on the wire, or "GET /rest/..." without identifiers.
type Report func(method string, d time.Duration, err error)

// MeterSOAP reports every call through a SOAP round tripper.
func MeterSOAP(next soap.RoundTripper, report Report) soap.RoundTripper {
	return &soapMeter{next, report}
}

// MeterREST reports every call through a REST round tripper.
func MeterREST(next http.RoundTripper, report Report) http.RoundTripper {
	return &restMeter{next, report}
}

type soapMeter struct {
	next   soap.RoundTripper
	report Report
}

// RoundTrip implements soap.RoundTripper.
func (m *soapMeter) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	began := time.Now()
	err := m.next.RoundTrip(ctx, req, res)
	m.report(strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body"), time.Since(began), err)
	return err
}

type restMeter struct {
	next   http.RoundTripper
	report Report
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
	m.report(method, time.Since(began), err)
	return res, err
}

// pathTemplate replaces the identifiers in a path, which would create a metric per tag.
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
