// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

func TestARecordingSaysHowTheDemoWasStarted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Options{Provider: vsphere.Provider{}}.command()).To(Equal("make demo"))
	g.Expect(Options{Provider: metal3.Provider{}, Story: "return", Flavor: "topology"}.command()).
		To(Equal("make demo PROVIDER=metal3 STORY=return FLAVOR=topology"))
}
