// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestForeignClonesAreNotLostClones(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, templateLayout())
	s := r.session()
	clone := vcenter.LostClone{TemplateRef: cloneSpec(t, s, 0).Template.Ref, InstanceUUID: "not made by anybody", Before: time.Now()}
	cloning := func() bool {
		t.Helper()
		found, err := s.Cloning(t.Context(), clone)
		g.Expect(err).NotTo(HaveOccurred())
		return found
	}
	g.Expect(cloning()).To(BeFalse(), "nothing is under way")

	r.server.HoldTasks(simulator.AllTasks)
	defer r.server.ReleaseTasks(simulator.AllTasks)
	other := cloneSpec(t, s, 1)
	var err error
	other.Template, err = s.Template("dc-1", "bare")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = s.CloneVM(t.Context(), other)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cloning()).To(BeFalse(), "that is another template's")

	_, err = s.SetExtraConfig(t.Context(), cloneSpec(t, s, 0).Template.Ref, map[string]string{"guestinfo.a": "b"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cloning()).To(BeFalse(), "that is not a clone")

	_, err = s.CloneVM(t.Context(), cloneSpec(t, s, 2))
	g.Expect(err).NotTo(HaveOccurred())
	clone.Before = time.Now().Add(-time.Hour)
	g.Expect(cloning()).To(BeFalse(), "that was started long after")
	clone.Before = time.Now()
	g.Expect(cloning()).To(BeTrue())
	clone.TemplateRef = ""
	g.Expect(cloning()).To(BeTrue(), "which template it was is not known")
}
