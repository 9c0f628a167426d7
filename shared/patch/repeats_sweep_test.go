// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestWritesToDeletedObjectsAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, r := NewWithT(t), &Repeats{}
		for i := range 100 {
			gone := object{kind: "*v1beta2.Machine", key: client.ObjectKey{Namespace: "ns", Name: strconv.Itoa(i)}}
			r.note(gone, outcome{set: map[string]string{"label a": "b"}, stripped: []string{"label a"}})
		}
		tracked := func() (all []object) {
			r.mu.Lock() // The sweeper has its own goroutine.
			defer r.mu.Unlock()
			for of := range r.objects {
				all = append(all, of)
			}
			return all
		}
		time.Sleep(remembered - time.Second) //nolint:forbidigo // The clock of the test.
		g.Expect(tracked()).To(HaveLen(100), "another client may still revert the writes")
		stays := identify(&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "stays"}})
		r.note(stays, outcome{set: map[string]string{"label a": "b"}})
		time.Sleep(2 * time.Second) //nolint:forbidigo // The clock of the test.
		synctest.Wait()
		g.Expect(tracked()).To(Equal([]object{stays}), "the manager is idle: no call drops them")
		g.Expect(r.pauses.NumRequeues(object{kind: "*v1beta2.Machine", key: client.ObjectKey{Namespace: "ns", Name: "0"}})).To(BeZero())
		time.Sleep(remembered + sweepInterval) //nolint:forbidigo // The clock of the test.
		synctest.Wait()
		g.Expect(tracked()).To(BeEmpty())
	})
}
