// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package kind

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(config(true).Networking.DisableDefaultCNI).To(BeTrue())
	g.Expect(config(false).Networking.DisableDefaultCNI).To(BeFalse())
	g.Expect(config(false).KubeadmConfigPatches).To(ConsistOf(ContainSubstring("failCgroupV1: false")))
}

func TestLoggerOmitsTraces(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out strings.Builder
	l := logger(&out)
	l.V(0).Infof("creating %s", "x")
	l.V(3).Info("trace")
	l.Warn("careful")
	logger(nil).Error("nowhere to go")
	g.Expect(out.String()).To(Equal("creating x\ncareful\n"))
}
