// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/patch"
)

// This tests what only a real API server does with patches: it rejects a list that is outdated, and accepts a status.
func TestPatchWithConcurrentWriter(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	vm := &infrav1.VSphereVM{ObjectMeta: w.meta("node")}
	vm.Labels = nil // not filtered by any manager
	vm.Spec.Template, vm.Spec.Server, vm.Spec.Datacenter = "template", w.vc.Host(), "dc-1"
	w.create(vm)
	read := func() (*infrav1.VSphereVM, patch.Patch) {
		mine := &infrav1.VSphereVM{}
		w.Expect(w.client.Get(t.Context(), keyOf(vm), mine)).To(Succeed())
		return mine, patch.From(mine)
	}
	other := func(finalizer string) {
		update(w, vm, func(vm *infrav1.VSphereVM) { vm.Finalizers = append(vm.Finalizers, finalizer) })
	}

	mine, p := read()
	other("example.com/first")
	mine.Finalizers, mine.Status.Host = []string{infrav1.VMFinalizer}, "host"
	err := p.Apply(t.Context(), w.client, mine)
	w.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	w.get(vm)
	w.Expect(vm.Finalizers).To(Equal([]string{"example.com/first"}), "the other's finalizer is still there")
	w.Expect(vm.Status.Host).To(BeEmpty())

	mine, p = read()
	other("example.com/second")
	mine.Status.Host = "host"
	w.Expect(p.Apply(t.Context(), w.client, mine)).To(Succeed())
	w.get(vm)
	w.Expect(vm.Status.Host).To(Equal("host"))
	w.Expect(vm.Finalizers).To(HaveLen(2))
	w.Expect(mine.ResourceVersion).To(Equal(vm.ResourceVersion))

	// Another client writes between the two requests of one Apply.
	mine, p = read()
	mine.Spec.BiosUUID, mine.Status.Host = "42", "other host"
	between := &interceptingClient{Client: w.client, before: func() { other("example.com/third") }}
	w.Expect(p.Apply(t.Context(), between, mine)).To(Succeed())
	w.get(vm)
	w.Expect(vm.Status.Host).To(Equal("other host"))
	w.Expect(vm.Finalizers).To(HaveLen(3))
	w.Expect(vm.Spec.BiosUUID).To(Equal("42"))
	update(w, vm, func(vm *infrav1.VSphereVM) { vm.Finalizers = nil })
}

// interceptingClient is a client that runs a function before its status requests.
type interceptingClient struct {
	client.Client
	before func()
}

func (m *interceptingClient) Status() client.SubResourceWriter {
	m.before()
	return m.Client.Status()
}
