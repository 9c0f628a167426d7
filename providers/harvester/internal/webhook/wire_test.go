// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"path/filepath"
	"testing"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestWireFormatOfV1beta1(t *testing.T) {
	rulestest.WireFormat(t, rulestest.Wire{
		Add: infrav1.AddToScheme, Version: infrav1.GroupVersion, Prefix: "Harvester", Folder: filepath.Join("..", "..", "api", "v1beta1", "testdata"),
	})
}
