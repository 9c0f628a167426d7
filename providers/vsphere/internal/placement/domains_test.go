// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
)

func condition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}

func checked(ready bool, conditions ...metav1.Condition) func(*placement.Zone) {
	return func(z *placement.Zone) { z.Status.Ready, z.Status.Conditions = ptr.To(ready), conditions }
}

func TestObservations(t *testing.T) {
	t.Parallel()
	answers := condition(infrav1.VSphereDeploymentZoneVCenterAvailableCondition, metav1.ConditionTrue, "Available", "")
	silent := condition(infrav1.VSphereDeploymentZoneVCenterAvailableCondition, metav1.ConditionFalse, infrav1.VCenterUnreachableReason, "no route")
	connecting := condition(infrav1.VSphereDeploymentZoneVCenterAvailableCondition, metav1.ConditionUnknown, infrav1.VCenterConnectingReason, "connecting")
	notReady := condition(clusterv1.ReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason, "datastore is gone")
	misplaced := condition(infrav1.VSphereDeploymentZonePlacementConstraintReadyCondition, metav1.ConditionFalse, "FolderNotFound", "no folder")
	invalid := condition(infrav1.VSphereDeploymentZoneFailureDomainValidatedCondition, metav1.ConditionFalse, "DatastoreNotFound", "datastore is gone")
	for name, tc := range map[string]struct {
		zone func(*placement.Zone)
		want distribution.DomainObservation
	}{
		"never looked at": {
			func(*placement.Zone) {}, distribution.DomainObservation{Health: distribution.Unknown, Reason: "NotChecked"},
		},
		"good": {checked(true, answers), distribution.DomainObservation{Health: distribution.Healthy}},
		"good, and its vCenter is silent": {
			checked(true, silent), distribution.DomainObservation{Health: distribution.Unknown, Reason: infrav1.VCenterUnreachableReason, Message: "no route"},
		},
		"bad, and its vCenter is silent": {
			checked(false, silent, notReady, invalid),
			distribution.DomainObservation{Health: distribution.Unknown, Reason: infrav1.VCenterUnreachableReason, Message: "no route"},
		},
		"good, while it is being connected to": {
			checked(true, connecting), distribution.DomainObservation{Health: distribution.Unknown, Reason: infrav1.VCenterConnectingReason, Message: "connecting"},
		},
		"bad for its failure domain": {
			checked(false, answers, notReady, invalid, misplaced),
			distribution.DomainObservation{Health: distribution.Unhealthy, Reason: "DatastoreNotFound", Message: "datastore is gone"},
		},
		"bad for its placement": {
			checked(false, answers, notReady, misplaced),
			distribution.DomainObservation{Health: distribution.Unhealthy, Reason: "FolderNotFound", Message: "datastore is gone"},
		},
		"bad without a reason": {checked(false, answers), distribution.DomainObservation{Health: distribution.Unhealthy}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := placement.Observations([]placement.Zone{*newZone("a", tc.zone)}, nil)
			g.Expect(got).To(HaveLen(1))
			g.Expect(got[0].Name).To(Equal("a"))
			g.Expect(got[0].Health).To(Equal(tc.want.Health))
			g.Expect(got[0].Reason).To(Equal(tc.want.Reason))
			if tc.want.Message != "" {
				g.Expect(got[0].Message).To(Equal(tc.want.Message))
			}
		})
	}
}

func TestObservationAttributes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := placement.Observations([]placement.Zone{
		*newZone("a", checked(true)),
		*newZone("b", checked(true), func(z *placement.Zone) { z.Spec.ControlPlane = ptr.To(false) }),
		*newZone("c", checked(true), func(z *placement.Zone) { z.Spec.ControlPlane, z.Domain = ptr.To(true), nil }),
	}, nil)
	g.Expect(got[0].Attributes).To(Equal(map[string]string{"region": "region-1", "zone": "a"}))
	g.Expect(got[0].ControlPlane).To(BeTrue(), "a zone is for control planes by default")
	g.Expect(got[1].ControlPlane).To(BeFalse())
	g.Expect(got[2].ControlPlane).To(BeTrue())
	g.Expect(got[2].Attributes).To(BeEmpty(), "without its failure domain there is nothing to say")
}

// A zone is Unhealthy while the machines of the cluster cannot use its vCenter, but only if the cause is this
// vCenter.
func TestObservationsOfSeveralVCenters(t *testing.T) {
	t.Parallel()
	const available = infrav1.VSphereClusterVCenterAvailableCondition
	up := condition(available, metav1.ConditionTrue, "Available", "")
	down := condition(available, metav1.ConditionFalse, infrav1.VCenterUnreachableReason, "no route")
	connecting := condition(available, metav1.ConditionUnknown, infrav1.VCenterConnectingReason, "connecting")
	refused := condition(available, metav1.ConditionFalse, infrav1.CredentialsInvalidReason, "bound to another")
	zones := []placement.Zone{*newZone("a", checked(true)), *newZone("b", checked(true))}
	for name, tc := range map[string]struct {
		a, b         metav1.Condition
		healthA      distribution.Health
		healthB      distribution.Health
		reason, says string
	}{
		"both are up":              {up, up, distribution.Healthy, distribution.Healthy, "", ""},
		"one is down":              {up, down, distribution.Healthy, distribution.Unhealthy, infrav1.VCenterUnreachableReason, "no route"},
		"all are down":             {down, down, distribution.Healthy, distribution.Healthy, "", ""},
		"one is being opened":      {up, connecting, distribution.Healthy, distribution.Healthy, "", ""},
		"one refuses, others down": {down, refused, distribution.Healthy, distribution.Unhealthy, infrav1.CredentialsInvalidReason, "bound to another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := placement.Observations(zones, []placement.Server{
				{Server: "one", Available: tc.a, Zones: map[string]metav1.Condition{"a": tc.a}},
				{Server: "two", Available: tc.b, Zones: map[string]metav1.Condition{"b": tc.b}},
			})
			g.Expect([]distribution.Health{got[0].Health, got[1].Health}).To(Equal([]distribution.Health{tc.healthA, tc.healthB}))
			g.Expect(got[1].Reason).To(Equal(tc.reason))
			g.Expect(got[1].Message).To(Equal(tc.says))
		})
	}
}
