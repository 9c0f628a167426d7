// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest_test

import (
	"testing"

	"github.com/faultline-io/faultline/shared/testenv"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	testenv.ShowsVersion(t, "harvester-cloud-provider", asProgram+"=true")
}
