// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/patch"
)

func TestRecentEntriesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var recent patch.Recent[int]
		for i := range 1000 {
			recent.Set(client.ObjectKey{Name: fmt.Sprint(i)}, i, time.Now())
		}
		value, ok := recent.Get(client.ObjectKey{Name: "7"})
		g.Expect(ok).To(BeTrue())
		g.Expect(value).To(Equal(7))
		time.Sleep(patch.CacheLag) //nolint:forbidigo // The clock of the test.
		recent.Set(client.ObjectKey{Name: "other"}, 0, time.Now())
		g.Expect(recent.Len()).To(Equal(1001), "they may still be needed")
		time.Sleep(patch.CacheLag) //nolint:forbidigo // The clock of the test.
		_, ok = recent.Get(client.ObjectKey{Name: "any"})
		g.Expect(ok).To(BeFalse())
		g.Expect(recent.Len()).To(Equal(1))
		time.Sleep(patch.CacheLag) //nolint:forbidigo // The clock of the test.
		_, ok = recent.Get(client.ObjectKey{Name: "other"})
		g.Expect(ok).To(BeFalse())
		g.Expect(recent.Len()).To(BeZero())
	})
}
