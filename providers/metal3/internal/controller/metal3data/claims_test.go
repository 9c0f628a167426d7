// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
)

// A pool's provider that does not run, or knows nothing of the pool, says nothing.
func TestOverdue(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	claim := &ipamclusterv1.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Name: "t-4-p"}}
	pool := render.Pool{Kind: "InClusterIPPool", Name: "p"}

	s := &scope{}
	claim.CreationTimestamp = metav1.NewTime(now.Add(-40 * time.Second))
	g.Expect(s.overdue(claim, addressClaimKind, pool, now)).To(BeEmpty())
	g.Expect(s.retryAfter).To(Equal(20*time.Second), "nothing else would bring the data back in time")

	s = &scope{}
	claim.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Minute))
	g.Expect(s.overdue(claim, addressClaimKind, pool, now)).To(Equal(
		"InClusterIPPool p has given no address to IPAddressClaim t-4-p in 1m0s: see that the pool exists and that its provider runs"))
	g.Expect(s.retryAfter).To(BeZero())
}

func TestHostName(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]string{"metal/h-1": "h-1", "h-1": "h-1", "": ""} {
		machine := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.HostAnnotation: annotation}}}
		NewWithT(t).Expect(hostName(machine)).To(Equal(want))
	}
}
