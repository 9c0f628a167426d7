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
		stays := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "stays"}}
		time.Sleep(remembered - time.Second) //nolint:forbidigo // The clock of the test.
		r.note(identify(stays), outcome{set: map[string]string{"label a": "b"}})
		_, err := r.mayWrite(nil, stays, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.objects).To(HaveLen(101), "another client may still revert the writes")
		time.Sleep(CacheLag)     //nolint:forbidigo // The clock of the test.
		_ = r.Undone(nil, stays) // every use drops them
		g.Expect(r.objects).To(HaveLen(1))
		g.Expect(r.pauses.NumRequeues(object{kind: "*v1beta2.Machine", key: client.ObjectKey{Namespace: "ns", Name: "0"}})).To(BeZero())
	})
}
