// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Machines wait for the account of their zone, while a server reports that of its worst zone.
func TestClusterWhoseZoneBecomesUsableIsPassed(t *testing.T) {
	t.Parallel()
	unusable := func(c *infrav1.VSphereCluster) {
		c.Status.Distribution.FailureDomains = []faultlinev1.DomainStatus{{Name: "zone", Reason: infrav1.CredentialsInvalidReason}}
	}
	usable := func(c *infrav1.VSphereCluster) {
		c.Status.Distribution.FailureDomains = []faultlinev1.DomainStatus{{Name: "zone"}}
	}
	several := func(c *infrav1.VSphereCluster) {
		c.Status.Servers = []infrav1.VSphereClusterServerStatus{{Server: server, Conditions: []metav1.Condition{{Reason: infrav1.CredentialsInvalidReason}}}}
	}
	for name, tc := range map[string]struct {
		before, after []func(*infrav1.VSphereCluster)
		want          bool
	}{
		"a zone of one of several vCenters": {[]func(*infrav1.VSphereCluster){several, unusable}, []func(*infrav1.VSphereCluster){several, usable}, true},
		"nothing changed":                   {[]func(*infrav1.VSphereCluster){several, unusable}, []func(*infrav1.VSphereCluster){several, unusable}, false},
		"the cluster has one vCenter":       {[]func(*infrav1.VSphereCluster){unusable}, []func(*infrav1.VSphereCluster){usable}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := newCluster("one", "one", time.Hour), newCluster("one", "one", time.Hour)
			for _, change := range tc.before {
				change(before)
			}
			for _, change := range tc.after {
				change(after)
			}
			NewWithT(t).Expect(connection.Changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(tc.want))
		})
	}
}
