// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestWireFormat(t *testing.T) {
	rulestest.WireFormat(t, AddToScheme, GroupVersion, "VSphere", "VSphereMachineTemplate")
}

func TestAPIEndpointString(t *testing.T) {
	g := NewWithT(t)
	g.Expect(APIEndpoint{Host: "10.0.0.1", Port: 6443}.String()).To(Equal("10.0.0.1:6443"))
	g.Expect(APIEndpoint{Host: "2001:db8::1", Port: 6443}.String()).To(Equal("[2001:db8::1]:6443"))
}
