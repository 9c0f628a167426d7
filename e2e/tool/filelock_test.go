// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package tool

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
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

func TestUnlockWhileProcessesStart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var starting sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer starting.Wait()
	defer stop()
	for range 4 {
		starting.Go(func() {
			for ctx.Err() == nil {
				_ = exec.CommandContext(ctx, "true").Run()
			}
		})
	}
	path := filepath.Join(t.TempDir(), "lock")
	for range 300 {
		unlock, err := TryLock(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(unlock).NotTo(BeNil(), "nothing holds the lock any more")
		g.Expect(unlock()).To(Succeed())
	}
}
