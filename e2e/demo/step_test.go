// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestStepsAreBounded(t *testing.T) {
	g := NewWithT(t)
	s := step{name: "Never", limit: time.Millisecond, run: func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	g.Expect(s.within(t.Context())).To(MatchError("timed out after 1ms"))
}
