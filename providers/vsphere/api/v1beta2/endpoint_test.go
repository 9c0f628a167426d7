// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import "testing"

func TestEndpointFormat(t *testing.T) {
	for want, endpoint := range map[string]APIEndpoint{
		"10.0.0.1:6443":      {Host: "10.0.0.1", Port: 6443},
		"[2001:db8::1]:6443": {Host: "2001:db8::1", Port: 6443},
	} {
		if got := endpoint.String(); got != want {
			t.Errorf("%+v is written as %s, want %s", endpoint, got, want)
		}
	}
}
