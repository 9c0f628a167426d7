// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/patch"
)

func at(name, version string) *clusterv1.Machine {
	machine := &clusterv1.Machine{}
	machine.Name, machine.ResourceVersion = name, version
	return machine
}

func TestWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var written patch.Expectations
	g.Expect(written.Stale(at("machine", "1"))).To(BeFalse(), "what was never written cannot be behind")
	written.Observe(at("machine", "100"))
	g.Expect(written.Stale(at("machine", "99"))).To(BeTrue(), "versions are numbers, not text")
	g.Expect(written.Stale(at("machine", "100"))).To(BeFalse())
	g.Expect(written.Stale(at("machine", "101"))).To(BeFalse(), "another client wrote later")
	g.Expect(written.Stale(at("other", "1"))).To(BeFalse())
	g.Expect(written.Stale(at("machine", "not a number"))).To(BeFalse(), "when in doubt, the reconcile runs")
	written.Observe(at("machine", "200"))
	g.Expect(written.Stale(at("machine", "150"))).To(BeTrue())
	written.Forget(client.ObjectKey{Name: "machine"})
	g.Expect(written.Stale(at("machine", "1"))).To(BeFalse(), "a new object of the name starts from scratch")
}

func TestObjectOfAnotherUIDIsNotBehind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var written patch.Expectations
	before := at("machine", "100")
	before.UID = "one"
	written.Observe(before)
	after := at("machine", "50")
	after.UID = "two"
	g.Expect(written.Backoff(after)).To(BeZero(), "it was created again in a restored etcd")
}

func TestWrittenAt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var written patch.Expectations
	machine := at("machine", "100")
	machine.UID, machine.CreationTimestamp.Time = "one", time.Now().Add(-time.Hour)
	g.Expect(written.At(machine)).To(Equal(machine.CreationTimestamp.Time))
	written.Observe(machine)
	first := written.At(machine)
	g.Expect(first).To(BeTemporally("~", time.Now(), time.Minute))
	written.Observe(machine)
	g.Expect(written.At(machine)).To(Equal(first), "nothing was written")
	machine.ResourceVersion = "101"
	written.Observe(machine)
	g.Expect(written.At(machine)).To(BeTemporally(">", first))
	machine.UID = "two"
	g.Expect(written.At(machine)).To(Equal(machine.CreationTimestamp.Time), "that was another one of the name")
}

// After etcd was restored from a backup, resourceVersions are lower than before for a long time. The controller must not stand
// back forever.
func TestStandBackAfterEtcdRestore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var written patch.Expectations
		written.Observe(at("machine", "1000"))
		waited := time.Duration(0)
		for wait := written.Backoff(at("machine", "900")); wait > 0; wait = written.Backoff(at("machine", "900")) {
			waited += wait
			<-time.After(wait)
			g.Expect(waited).To(BeNumerically("<", 2*patch.CacheLag))
		}
		g.Expect(waited).To(BeNumerically(">=", patch.CacheLag), "a watch that is late for another reason has time")
		g.Expect(written.Stale(at("machine", "900"))).To(BeFalse())

		written.Observe(at("machine", "901"))
		g.Expect(written.Backoff(at("machine", "900"))).To(Equal(patch.InitialDelay), "what is written now counts again")
	})
}

func TestStandBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var written patch.Expectations
	g.Expect(written.Backoff(at("machine", "1"))).To(BeZero(), "nothing was written")
	written.Observe(at("machine", "100"))
	g.Expect(written.Backoff(at("machine", "99"))).To(Equal(patch.InitialDelay))
	g.Expect(written.Backoff(at("machine", "99"))).To(Equal(2 * patch.InitialDelay))
	for range 10 {
		written.Backoff(at("machine", "99"))
	}
	g.Expect(written.Backoff(at("machine", "99"))).To(Equal(time.Second), "it never stands back longer")
	g.Expect(written.Backoff(at("machine", "100"))).To(BeZero())
	written.Observe(at("machine", "200"))
	g.Expect(written.Backoff(at("machine", "100"))).To(Equal(patch.InitialDelay), "each write is awaited separately")
}
