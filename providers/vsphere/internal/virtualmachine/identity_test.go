// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

const (
	uid, bios, otherBIOS = "11111111-aaaa-4000-8000-000000000001", "42000000-aaaa-4000-8000-000000000001", "42000000-bbbb-4000-8000-000000000002"
	someInstance         = "50000000-cccc-4000-8000-000000000003"
	ourNotes             = "VSphereVM team-a/node"
)

func known(biosUUID, vmRef string) *infrav1.VSphereVM {
	return &infrav1.VSphereVM{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "node", UID: uid},
		Spec:       infrav1.VSphereVMSpec{BiosUUID: biosUUID}, Status: infrav1.VSphereVMStatus{VMRef: vmRef},
	}
}

func vmWith(ref, instance, biosUUID, notes string) Candidate {
	return Candidate{VM: vcenter.VM{Ref: ref, InstanceUUID: instance, BiosUUID: biosUUID, Annotation: notes}}
}

func bootedWithOurData(c Candidate) Candidate {
	c.Booted = true
	return c
}

func TestIdentify(t *testing.T) {
	original, copied := vmWith("vm-10", uid, bios, ourNotes), vmWith("vm-1", someInstance, bios, ourNotes)
	moved, movedCopy := vmWith("vm-10", "other-uid", bios, ourNotes), vmWith("vm-1", someInstance, bios, ourNotes)
	for name, tc := range map[string]struct {
		vm         *infrav1.VSphereVM
		candidates []Candidate
		ours       string
		rivals     int
		strangers  int
	}{
		"none there":                                {vm: known(bios, "vm-10")},
		"new, made by our clone":                    {vm: known("", ""), candidates: []Candidate{vmWith("vm-10", uid, bios, ourNotes)}, ours: "vm-10"},
		"UUIDs are compared without case":           {vm: known(bios, ""), candidates: []Candidate{vmWith("vm-10", "11111111-AAAA-4000-8000-000000000001", bios, "")}, ours: "vm-10"},
		"a copy whose reference sorts first":        {vm: known(bios, ""), candidates: []Candidate{copied, original}, ours: "vm-10"},
		"a copy that was recorded by mistake":       {vm: known(bios, "vm-1"), candidates: []Candidate{copied, original}, ours: "vm-10"},
		"the machine is gone and its copy is there": {vm: known(bios, "vm-10"), candidates: []Candidate{copied}, strangers: 1},
		"two with our UID, one recorded":            {vm: known(bios, "vm-10"), candidates: []Candidate{vmWith("vm-1", uid, bios, ""), original}, ours: "vm-10"},
		"two with our UID":                          {vm: known(bios, ""), candidates: []Candidate{vmWith("vm-1", uid, bios, ""), original}, rivals: 2},
		"registered again under another reference":  {vm: known(bios, "vm-9"), candidates: []Candidate{original}, ours: "vm-10"},
		"moved":                                            {vm: known(bios, ""), candidates: []Candidate{moved}, ours: "vm-10"},
		"moved, with more lines in the notes":              {vm: known(bios, ""), candidates: []Candidate{vmWith("vm-10", "x", bios, "backup of Monday\n"+ourNotes+"\n")}, ours: "vm-10"},
		"moved, and a copy":                                {vm: known(bios, ""), candidates: []Candidate{movedCopy, moved}, rivals: 2},
		"moved and found before, and a copy":               {vm: known(bios, "vm-10"), candidates: []Candidate{movedCopy, moved}, ours: "vm-10"},
		"moved from upstream":                              {vm: known(bios, ""), candidates: []Candidate{bootedWithOurData(vmWith("vm-10", "x", bios, ""))}, ours: "vm-10"},
		"moved from upstream, and a copy":                  {vm: known(bios, ""), candidates: []Candidate{bootedWithOurData(vmWith("vm-1", "y", bios, "")), bootedWithOurData(vmWith("vm-10", "x", bios, ""))}, rivals: 2},
		"moved, notes and bootstrap data on different VMs": {vm: known(bios, ""), candidates: []Candidate{moved, bootedWithOurData(vmWith("vm-1", "x", bios, ""))}, rivals: 2},
		"upstream in place, moved before":                  {vm: known(bios, "vm-10"), candidates: []Candidate{vmWith("vm-10", "x", bios, "")}, ours: "vm-10"},
		"only a BIOS UUID":                                 {vm: known(bios, ""), candidates: []Candidate{vmWith("vm-10", "x", bios, "database")}, strangers: 1},
		"another VSphereVM's":                              {vm: known(bios, ""), candidates: []Candidate{vmWith("vm-10", "x", bios, "VSphereVM team-b/node")}, strangers: 1},
		"notes whose name only begins like ours":           {vm: known(bios, ""), candidates: []Candidate{vmWith("vm-10", "x", bios, ourNotes+"-2")}, strangers: 1},
		"our notes on another BIOS UUID":                   {vm: known(bios, ""), candidates: []Candidate{vmWith("vm-10", "x", otherBIOS, ourNotes)}, strangers: 1},
		"our notes on a machine of before":                 {vm: known("", ""), candidates: []Candidate{vmWith("vm-10", "x", bios, ourNotes)}, strangers: 1},
		"the reference names another machine now":          {vm: known(bios, "vm-10"), candidates: []Candidate{vmWith("vm-10", "x", otherBIOS, "")}, strangers: 1},
		"the reference of a clone names another machine":   {vm: known("", "vm-10"), candidates: []Candidate{vmWith("vm-10", "x", otherBIOS, "")}, strangers: 1},
		"a clone that vCenter gave another instance UUID":  {vm: known("", "vm-10"), candidates: []Candidate{vmWith("vm-10", "x", bios, ourNotes)}, ours: "vm-10"},
		"a clone without UUIDs yet":                        {vm: known("", "vm-10"), candidates: []Candidate{vmWith("vm-10", "", "", "")}, ours: "vm-10"},
		"its files cannot be read":                         {vm: known(bios, "vm-10"), candidates: []Candidate{vmWith("vm-10", "", "", "")}, ours: "vm-10"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := Identify(tc.vm, tc.candidates)
			if tc.ours == "" {
				g.Expect(got.Ours).To(BeNil())
			} else {
				g.Expect(got.Ours).NotTo(BeNil())
				g.Expect(got.Ours.Ref).To(Equal(tc.ours))
			}
			g.Expect(got.Rivals).To(HaveLen(tc.rivals))
			g.Expect(got.Strangers).To(HaveLen(tc.strangers))
		})
	}
}

func TestMarks(t *testing.T) {
	for name, test := range map[string]struct{ notes, want string }{
		"none":                     {"", ""},
		"a backup program's":       {"backup of last night\nsucceeded", ""},
		"among other lines":        {"asset 4711\nVSphereVM tenant/node\nbackup", "VSphereVM tenant/node"},
		"a note that mentions one": {"the VSphereVM tenant/node is mine", ""},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(Marks(test.notes)).To(Equal(test.want)) })
	}
}
