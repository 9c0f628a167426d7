// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"testing"

	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestWireFormat(t *testing.T) {
	rulestest.WireFormat(t, AddToScheme, GroupVersion, "Metal3")
}
