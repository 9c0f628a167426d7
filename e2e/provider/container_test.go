// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package provider

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestVariablesIgnoresOtherLines(t *testing.T) {
	t.Parallel()
	got := variables("VSPHERE_SERVER=172.18.0.3:8989\n2026/11/21 a line of a log x=y\nVSPHERE_NETWORK=VM Network\r\nCONFIG=YQ==\n")
	NewWithT(t).Expect(got).To(Equal(map[string]string{"VSPHERE_SERVER": "172.18.0.3:8989", "VSPHERE_NETWORK": "VM Network", "CONFIG": "YQ=="}))
}
