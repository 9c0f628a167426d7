// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"
)

// templatesAmong returns the index of a vCenter with n virtual machines, including two templates.
func templatesAmong(n int) *Index {
	ix := NewIndex(NewRecords(nil))
	folder := Ref{Type: "Folder", Value: "group-v1"}
	updates := []types.ObjectUpdate{{Kind: types.ObjectUpdateKindEnter, Obj: folder, ChangeSet: []types.PropertyChange{{Name: "name", Val: "vm"}}}}
	for i := range n {
		vm := Ref{Type: "VirtualMachine", Value: fmt.Sprintf("vm-%d", i)}
		updates = append(updates, types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: vm, ChangeSet: []types.PropertyChange{
			{Name: "name", Val: vm.Value}, {Name: "parent", Val: folder},
			{Name: "summary.config", Val: types.VirtualMachineConfigSummary{InstanceUuid: vm.Value, Template: i < 2}},
		}})
	}
	ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: updates}}})
	return ix
}

func TestWrongTemplateListsTemplates(t *testing.T) {
	g := NewWithT(t)
	ix := templatesAmong(50)
	_, err := (&resolver{ix: ix}).find(KindVM, "missing", nil)
	g.Expect(err).To(MatchError(HaveSuffix("vCenter has /vm-0, /vm-1")))
}

func BenchmarkWrongTemplate(b *testing.B) {
	ix := templatesAmong(20000)
	for b.Loop() {
		if _, err := (&resolver{ix: ix}).find(KindVM, "missing", nil); err == nil {
			b.Fatal("it was found")
		}
	}
}
