// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/patch"
)

func at(name, version string) *infrav1.VSphereVM {
	vm := &infrav1.VSphereVM{}
	vm.Name, vm.ResourceVersion = name, version
	return vm
}

func TestWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var written patch.Written
	g.Expect(written.Behind(at("vm", "1"))).To(BeFalse(), "what was never written cannot be behind")
	written.Note(at("vm", "100"))
	g.Expect(written.Behind(at("vm", "99"))).To(BeTrue(), "versions are numbers, not text")
	g.Expect(written.Behind(at("vm", "100"))).To(BeFalse())
	g.Expect(written.Behind(at("vm", "101"))).To(BeFalse(), "somebody else wrote later")
	g.Expect(written.Behind(at("other", "1"))).To(BeFalse())
	g.Expect(written.Behind(at("vm", "not a number"))).To(BeFalse(), "when in doubt, the reconcile runs")
	written.Note(at("vm", "200"))
	g.Expect(written.Behind(at("vm", "150"))).To(BeTrue())
	written.Forget(client.ObjectKey{Name: "vm"})
	g.Expect(written.Behind(at("vm", "1"))).To(BeFalse(), "a new object of the name starts anew")
}
