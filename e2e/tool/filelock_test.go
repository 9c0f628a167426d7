// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTryLock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "folder", "lock")
	unlock, err := TryLock(path)
	g.Expect(err).NotTo(HaveOccurred())
	second, err := TryLock(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second).To(BeNil())
	g.Expect(unlock()).To(Succeed())
	third, err := TryLock(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(third()).To(Succeed())
}
