// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package kind

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestRunsDoNotShareEnvironment(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	folder := t.TempDir()
	one, two := &Environment{Options: Options{Name: "x"}, own: folder}, &Environment{Options: Options{Name: "x"}, own: folder}
	g.Expect(one.reserve()).To(Succeed())
	g.Expect(one.reserve()).To(Succeed(), "up and down of one run")
	g.Expect(two.reserve()).To(MatchError(ContainSubstring("CLUSTER=NAME")))
	g.Expect(one.release()).To(Succeed())
	g.Expect(two.reserve()).To(Succeed())
	g.Expect(two.release()).To(Succeed())
}
