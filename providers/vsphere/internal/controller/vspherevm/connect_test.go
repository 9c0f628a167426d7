// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// failingVCenters returns no session.
type failingVCenters struct{ why error }

func (s failingVCenters) ForVM(context.Context, *infrav1.VSphereCluster, *infrav1.VSphereVM) (*vcenter.Session, error) {
	return nil, s.why
}

func (failingVCenters) ClustersOf(string) []client.ObjectKey { return nil }

// Its cluster may be on another server, or connect to this one with another thumbprint, so no other object requests the
// machine's session.
func TestRejectedAccountIsRetried(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		why   error
		after time.Duration
	}{
		"refused":          {vcenter.ErrUnauthorized, 2 * time.Minute},
		"an event follows": {vcenter.ErrUnreachable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := &Reconciler{VCenters: failingVCenters{fmt.Errorf("logging in: %w", tc.why)}}
			p, err := r.connect(t.Context(), &scope{vm: &infrav1.VSphereVM{}, cluster: &infrav1.VSphereCluster{}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.After()).To(Equal(tc.after))
		})
	}
}
