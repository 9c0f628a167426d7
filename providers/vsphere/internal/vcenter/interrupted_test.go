// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package vcenter_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func replaceTemplate(s *simulator.Server) error {
	const folder = "/dc-1/vm/templates/"
	return errors.Join(s.Rename(folder+simulator.TemplateName, "old"), s.Rename("/dc-1/vm/bare", simulator.TemplateName))
}

// TestLostCloneIsFoundInTaskHistory simulates a call whose response was lost: the session that looks for the clone was
// opened before the clone and has no record of its task.
func TestLostCloneIsFoundInTaskHistory(t *testing.T) {
	t.Parallel()
	const template = "/dc-1/vm/templates/" + simulator.TemplateName
	for name, change := range map[string]func(*simulator.Server) error{
		"template as it was":                 func(*simulator.Server) error { return nil },
		"template renamed meanwhile":         func(s *simulator.Server) error { return s.Rename(template, "old") },
		"template replaced under its name":   replaceTemplate,
		"history longer than a default page": func(*simulator.Server) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := newRig(t, templateLayout())
			before := r.session()
			r = &rig{recorder: &recorder{}, t: t, server: r.server}
			r.pool = newPool(t, r.recorder, time.Hour)
			after := r.session()
			clone := vcenter.LostClone{TemplateRef: cloneSpec(t, after, 0).Template.Ref, InstanceUUID: "not made by anybody", Before: time.Now()}
			others := 0
			if name == "history longer than a default page" {
				others = 12
			}
			r.server.HoldTasks("CloneVM_Task")
			lost, err := before.CloneVM(t.Context(), cloneSpec(t, before, 0))
			g.Expect(err).NotTo(HaveOccurred())
			for i := range others {
				spec := cloneSpec(t, before, i+1)
				spec.Template, err = before.Template("dc-1", "bare")
				g.Expect(err).NotTo(HaveOccurred())
				_, err := before.CloneVM(t.Context(), spec)
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(change(r.server)).To(Succeed())

			found, err := after.Cloning(t.Context(), clone)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(BeTrue())
			r.forget()
			r.server.ReleaseTasks("CloneVM_Task")
			eventually(t, func() error {
				if len(r.matching(func(e vcenter.Event) bool { return e.Kind == vcenter.TaskDone && e.Task == lost })) == 0 {
					return errors.New("its end is not reported")
				}
				return nil
			})
			eventually(t, func() error {
				if found, err := after.Cloning(t.Context(), clone); found || err != nil {
					return errors.Join(err, errors.New("still cloning"))
				}
				return nil
			})
		})
	}
}
