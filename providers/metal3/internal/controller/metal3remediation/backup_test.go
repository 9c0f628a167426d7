// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func TestTaintUnsupported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(taintUnsupported(nil)).To(BeFalse())
	for version, want := range map[string]bool{
		"": false, "unknown": false, "v1.27.16": true, "v1.28.0": false, "v1.28.0-rc.1": false, "v1.27.4+k3s1": true, "v1.36.1": false,
	} {
		node := &corev1.Node{}
		node.Status.NodeInfo.KubeletVersion = version
		g.Expect(taintUnsupported(node)).To(Equal(want), version)
	}
}

func TestRestored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(restored(`{"a":"before","b":"before"}`, map[string]string{"b": "now"})).To(Equal(map[string]string{"a": "before", "b": "now"}))
	g.Expect(restored(`null`, map[string]string{"b": "now"})).To(Equal(map[string]string{"b": "now"}))
	g.Expect(restored(`nonsense`, map[string]string{"b": "now"})).To(Equal(map[string]string{"b": "now"}))
	g.Expect(restored(``, nil)).To(BeEmpty())
}

func TestBackUpNode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &scope{remediation: &infrav1.Metal3Remediation{}, node: &corev1.Node{}}
	s.node.Labels = map[string]string{"a": "b"}
	g.Expect(isBackedUp(s.remediation)).To(BeFalse())
	g.Expect(backUpNode(s)).To(Succeed())
	g.Expect(isBackedUp(s.remediation)).To(BeTrue())
	g.Expect(s.remediation.Annotations).To(HaveKeyWithValue("remediation.metal3.io/node-labels-backup", `{"a":"b"}`))
	forgetBackup(s.remediation)
	g.Expect(s.remediation.Annotations).To(BeEmpty())
}
