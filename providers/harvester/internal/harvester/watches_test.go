// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestEndedWatchesExpire(t *testing.T) {
	g := NewWithT(t)
	w := newWatches()
	for i := range 30 {
		_, err := io.ReadAll(w.track(fmt.Sprintf("/api/v1/namespaces/gone-%d/services", i), io.NopCloser(strings.NewReader(""))))
		g.Expect(err).NotTo(HaveOccurred())
	}
	w.expire(time.Now())
	g.Expect(w.reopenSince).To(HaveLen(30), "they may be about to be opened again")
	w.expire(time.Now().Add(reopening))
	g.Expect(w.reopenSince).To(BeEmpty())
}

func TestRecentResponsesAreBoundedAndExpire(t *testing.T) {
	g := NewWithT(t)
	c := clocktesting.NewFakeClock(time.Now())
	r := newRecent(c)
	for i := range 3 * memories {
		g.Expect(r.get(question{kind: "any", key: client.ObjectKey{Name: fmt.Sprint(i)}}, &corev1.Service{}, func() error { return nil })).To(Succeed())
		g.Expect(len(r.answers)).To(BeNumerically("<=", memories))
	}
	c.Step(remembered)
	r.expire()
	g.Expect(r.answers).To(BeEmpty())
}
