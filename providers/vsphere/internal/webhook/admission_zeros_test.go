// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// testZeroValues wants empty texts and lists of a manifest, 0 and false to stay, so that nothing differs when it is applied again.
func testZeroValues(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	api.StayAsWritten(t, "testdata/zero-values", v1beta1.GroupVersion, infrav1.GroupVersion)
}
