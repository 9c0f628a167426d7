// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestOutcomesOfDeletedZonesAreDropped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	ended := make(chan struct{})
	j := newZoneJobs(func(work func(context.Context)) { go work(t.Context()) }, func() { ended <- struct{}{} })
	j.now = func() time.Time { return now }
	for i := range 30 {
		j.do(fmt.Sprintf("zone-%d", i), "configure", time.Minute, func(context.Context) Outcome { return Outcome{} })
		<-ended
	}
	g.Expect(j.of).To(HaveLen(30), "they are not tried again for a minute")
	now = now.Add(time.Minute)
	j.do("zone", "configure", time.Minute, func(context.Context) Outcome { return Outcome{} })
	<-ended
	g.Expect(j.of).To(HaveLen(1))
}
