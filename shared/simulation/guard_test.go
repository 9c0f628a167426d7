// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline-io/faultline/shared/simulation"
)

func node(uid types.UID, version string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host", UID: uid, ResourceVersion: version}}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var guard simulation.Guard
		g.Expect(guard.Wait(node("a", "99"))).To(BeZero(), "nothing was written")
		guard.Wrote(node("a", "100"))
		g.Expect(guard.Wait(node("a", "99"))).To(Equal(time.Minute))
		g.Expect(guard.Wait(node("b", "99"))).To(BeZero(), "another object of the same name")
		time.Sleep(59 * time.Second) //nolint:forbidigo // The clock of the test.
		g.Expect(guard.Wait(node("a", "99"))).To(Equal(time.Second))
		g.Expect(guard.Wait(node("a", "101"))).To(BeZero(), "the watch has brought it")

		guard.Wrote(node("a", "102"))
		time.Sleep(time.Minute) //nolint:forbidigo // The clock of the test.
		g.Expect(guard.Wait(node("a", "7"))).To(BeZero(), "an etcd was restored")
	})
}
