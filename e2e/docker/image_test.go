// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package docker

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestRebuiltImageRemovesOldImage(t *testing.T) {
	g := NewWithT(t)
	d := Docker{}
	if _, err := d.Run(t.Context(), "version"); err != nil {
		t.Skip("no Docker engine is running:", err)
	}
	const name = "faultline/test-of-images:latest"
	defer func() { _, _ = d.Run(t.Context(), "image", "rm", "--force", name) }()
	made := func(content string) string {
		i := Image{Name: name, Entrypoint: "/a", User: NonRoot, Files: []File{{Path: "/a", Content: []byte(content)}}}
		built, err := i.Ensure(t.Context(), d)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(built).To(BeTrue())
		id, err := d.ImageID(t.Context(), name)
		g.Expect(err).NotTo(HaveOccurred())
		return id
	}
	first := made("one")
	g.Expect(d.ImageID(t.Context(), first)).To(Equal(first))
	second := made("two")
	g.Expect(d.ImageID(t.Context(), first)).To(BeEmpty())
	g.Expect(d.ImageID(t.Context(), second)).To(Equal(second))
}
