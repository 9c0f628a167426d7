// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
)

func TestPowerOffRequested(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	host := bmh(annotated("reboot.metal3.io/metal3-remediation-1"), annotated("reboot.metal3.io/metal3-remediation-2"),
		annotated("reboot.metal3.io/other"), annotated(bmov1alpha1.RebootAnnotationPrefix))
	g.Expect(hosts.PowerOffRequesters(host)).To(ConsistOf("1", "2"))
	g.Expect(hosts.PowerOffRequested(host, "1")).To(BeTrue())
	g.Expect(hosts.PowerOffRequested(host, "3")).To(BeFalse())
	g.Expect(hosts.PowerOffRequesters(bmh())).To(BeEmpty())
}
