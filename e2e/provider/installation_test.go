// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
)

type fakeProvider struct{ Provider }

func (fakeProvider) Describe() Description { return Description{Name: "some"} }

func TestOtherManagerUsesItsRelease(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	i := &Installation{Provider: fakeProvider{}, Root: filepath.Join(dir, "root"), core: filepath.Join(dir, "core"), controlPlane: filepath.Join(dir, "controlplane")}
	for _, of := range []string{i.core, i.controlPlane} {
		bases := filepath.Join(of, "config", "crd", "bases")
		g.Expect(os.MkdirAll(bases, 0o755)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(bases, filepath.Base(of)+".yaml"), nil, 0o600)).To(Succeed())
	}
	programs := binaries.Paths{binaries.Provider("some"): "ours"}
	for _, tc := range []struct {
		other            *OtherManager
		program, release string
	}{
		{nil, "ours", "../root/providers/some/config/default"},
		{&OtherManager{Program: "theirs", Release: filepath.Join(dir, "release")}, "theirs", "../release"},
	} {
		i.Other = tc.other
		folder := filepath.Join(dir, "config")
		component, err := i.Component(programs, folder)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(component.Program).To(Equal(tc.program))
		g.Expect(component.Config).To(Equal(folder))
		content, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(content)).To(And(ContainSubstring("- "+tc.release+"\n"), ContainSubstring("- core.yaml\n"), ContainSubstring("- controlplane.yaml\n")))
	}
}
