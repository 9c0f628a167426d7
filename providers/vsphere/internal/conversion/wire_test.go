// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"path/filepath"
	"testing"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestWireFormatOfV1beta1(t *testing.T) {
	rulestest.WireFormat(t, rulestest.Wire{
		Add: v1beta1.AddToScheme, Version: v1beta1.GroupVersion, Prefix: "VSphere", Folder: filepath.Join("..", "..", "api", "v1beta1", "testdata"),
		NeverEmpty: []string{"VSphereCluster", "VSphereClusterTemplate"},
	})
}

func TestWireFormatOfV1beta2(t *testing.T) {
	rulestest.WireFormat(t, rulestest.Wire{
		Add: infrav1.AddToScheme, Version: infrav1.GroupVersion, Prefix: "VSphere", Folder: filepath.Join("..", "..", "api", "v1beta2", "testdata"),
		NeverEmpty: []string{"VSphereMachineTemplate"}, Shared: true,
	})
}
