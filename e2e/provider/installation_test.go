// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package provider

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
)

type fakeProvider struct{ Provider }

func (fakeProvider) Describe() Description { return Description{Name: "some"} }

func TestOtherManagerUsesItsRelease(t *testing.T) {
	g := NewWithT(t)
	i := &Installation{Provider: fakeProvider{}, Root: "root", Programs: binaries.Paths{binaries.Provider("some"): "ours"}}
	for _, tc := range []struct {
		other            *OtherManager
		program, release string
	}{
		{nil, "ours", filepath.Join("root", "providers", "some", "config", "default")},
		{&OtherManager{Program: "theirs", Release: "release"}, "theirs", "release"},
	} {
		i.Other = tc.other
		component := i.Component()
		g.Expect(component.Program).To(Equal(tc.program))
		g.Expect(component.Config).To(Equal(tc.release))
	}
}
