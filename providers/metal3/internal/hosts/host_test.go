// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func bmh(changes ...func(*bmov1alpha1.BareMetalHost)) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "host", Labels: map[string]string{}, Annotations: map[string]string{}}}
	host.Status.Provisioning.State = bmov1alpha1.StateAvailable
	for _, change := range changes {
		change(host)
	}
	return host
}

func inState(state bmov1alpha1.ProvisioningState) func(*bmov1alpha1.BareMetalHost) {
	return func(host *bmov1alpha1.BareMetalHost) { host.Status.Provisioning.State = state }
}

func annotated(key string) func(*bmov1alpha1.BareMetalHost) {
	return func(host *bmov1alpha1.BareMetalHost) { host.Annotations[key] = "" }
}

func manageable(status metav1.ConditionStatus, reason string) func(*bmov1alpha1.BareMetalHost) {
	return func(host *bmov1alpha1.BareMetalHost) {
		host.Status.Conditions = []metav1.Condition{{Type: bmov1alpha1.ManageableCondition, Status: status, Reason: reason}}
	}
}

func consumed(version, kind string) func(*bmov1alpha1.BareMetalHost) {
	return func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: version, Kind: kind, Namespace: "ns", Name: "m"}
	}
}

func TestObserveUnavailability(t *testing.T) {
	t.Parallel()
	failed := func(host *bmov1alpha1.BareMetalHost) { host.Status.ErrorMessage = "no power" }
	for name, tc := range map[string]struct {
		host *bmov1alpha1.BareMetalHost
		want hosts.Unavailability
	}{
		"available":                   {bmh(), ""},
		"ready":                       {bmh(inState(bmov1alpha1.StateReady)), ""},
		"registering":                 {bmh(inState(bmov1alpha1.StateRegistering)), hosts.NotReady},
		"inspecting":                  {bmh(inState(bmov1alpha1.StateInspecting)), hosts.NotReady},
		"deprovisioning":              {bmh(inState(bmov1alpha1.StateDeprovisioning)), hosts.NotReady},
		"new":                         {bmh(inState(bmov1alpha1.StateNone)), hosts.NotReady},
		"unmanaged":                   {bmh(inState(bmov1alpha1.StateUnmanaged)), hosts.External},
		"external":                    {bmh(func(host *bmov1alpha1.BareMetalHost) { host.Spec.ExternallyProvisioned = true }), hosts.External},
		"consumed":                    {bmh(consumed("example.com/v1", "Server")), hosts.InUse},
		"kept for reuse":              {bmh(consumed("cluster.x-k8s.io/v1beta2", "Cluster"), func(host *bmov1alpha1.BareMetalHost) { host.Labels[infrav1.NodeReuseLabel] = "cp-x" }), ""},
		"a Cluster's without a label": {bmh(consumed("cluster.x-k8s.io/v1beta2", "Cluster")), hosts.InUse},
		"given an image":              {bmh(func(host *bmov1alpha1.BareMetalHost) { host.Spec.Image = &bmov1alpha1.Image{URL: "x"} }), hosts.InUse},
		"deleted":                     {bmh(func(host *bmov1alpha1.BareMetalHost) { host.DeletionTimestamp = ptr.To(metav1.Now()) }), hosts.Deleting},
		"in error":                    {bmh(failed), hosts.InError},
		"in error in use":             {bmh(failed, consumed("example.com/v1", "Server")), hosts.InError},
		"error status": {bmh(func(host *bmov1alpha1.BareMetalHost) {
			host.Status.OperationalStatus = bmov1alpha1.OperationalStatusError
		}), hosts.InError},
		"without power":                     {bmh(manageable(metav1.ConditionFalse, bmov1alpha1.PowerFailureReason)), hosts.NoPower},
		"without power in use":              {bmh(manageable(metav1.ConditionFalse, bmov1alpha1.PowerFailureReason), consumed("example.com/v1", "Server")), hosts.NoPower},
		"with power":                        {bmh(manageable(metav1.ConditionTrue, bmov1alpha1.ManageableReason)), ""},
		"not manageable before it is known": {bmh(manageable(metav1.ConditionFalse, bmov1alpha1.RegisteringReason), inState(bmov1alpha1.StateRegistering)), hosts.NotReady},
		"unhealthy":                         {bmh(annotated("capm3.metal3.io/unhealthy")), hosts.Unhealthy},
		"once spelled":                      {bmh(annotated("capi.metal3.io/unhealthy")), hosts.Unhealthy},
		"detached":                          {bmh(annotated(bmov1alpha1.DetachedAnnotation)), hosts.Detached},
		"paused":                            {bmh(annotated(bmov1alpha1.PausedAnnotation)), hosts.Paused},
		"paused in use":                     {bmh(annotated(bmov1alpha1.PausedAnnotation), consumed("example.com/v1", "Server")), hosts.InUse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(hosts.Observe(tc.host).Unavailability).To(Equal(tc.want))
		})
	}
}

func TestObserveConsumer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ours := types.NamespacedName{Namespace: "ns", Name: "m"}
	for _, version := range []string{"v1beta2", "v1beta1", "v1alpha5"} {
		host := bmh(consumed("infrastructure.cluster.x-k8s.io/"+version, "Metal3Machine"))
		g.Expect(hosts.Observe(host).Consumer).To(Equal(ours), version)
		g.Expect(hosts.BelongsTo(host, ours)).To(BeTrue())
		g.Expect(hosts.BelongsTo(host, types.NamespacedName{Namespace: "other", Name: "m"})).To(BeFalse())
	}
	for _, host := range []*bmov1alpha1.BareMetalHost{
		bmh(), bmh(consumed("example.com/v1beta2", "Metal3Machine")), bmh(consumed("infrastructure.cluster.x-k8s.io/v1beta2", "Other")), bmh(consumed("a/b/c", "Metal3Machine")),
	} {
		g.Expect(hosts.Observe(host).Consumer).To(BeZero())
		g.Expect(hosts.BelongsTo(host, ours)).To(BeFalse())
	}
	g.Expect(hosts.BelongsTo(bmh(), types.NamespacedName{})).To(BeFalse())
}

func TestObserveFailed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	host := bmh(annotated(infrav1.MachineFailedAnnotation))
	g.Expect(hosts.Observe(host).Failed).To(BeZero(), "the annotation cannot be parsed")
	host.Annotations[infrav1.MachineFailedAnnotation] = "2026-05-01T12:00:00Z"
	g.Expect(hosts.Observe(host).Failed).To(BeTemporally("==", now))
	host = bmh(annotated(infrav1.MachineFailedAnnotation))
	host.Annotations = map[string]string{faultlinev1.FormerName(infrav1.MachineFailedAnnotation): "2026-05-01T12:00:00Z"}
	g.Expect(hosts.Observe(host).Failed).To(BeTemporally("==", now), "under its former name")
}

func TestSelector(t *testing.T) {
	t.Parallel()
	host := labels.Set{"rack": "a", "size": "large", "cores": "16"}
	for name, tc := range map[string]struct {
		spec    infrav1.HostSelector
		matches bool
		err     string
	}{
		"everything":      {infrav1.HostSelector{}, true, ""},
		"label":           {infrav1.HostSelector{MatchLabels: map[string]string{"rack": "a", "size": "large"}}, true, ""},
		"other label":     {infrav1.HostSelector{MatchLabels: map[string]string{"rack": "b"}}, false, ""},
		"in":              {infrav1.HostSelector{MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "rack", Operator: "In", Values: []string{"a", "b"}}}}, true, ""},
		"NOTIN":           {infrav1.HostSelector{MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "rack", Operator: "NOTIN", Values: []string{"a"}}}}, false, ""},
		"exists":          {infrav1.HostSelector{MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "gpu", Operator: "Exists"}}}, false, ""},
		"not":             {infrav1.HostSelector{MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "gpu", Operator: "!"}}}, true, ""},
		"greater":         {infrav1.HostSelector{MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "cores", Operator: "Gt", Values: []string{"8"}}}}, true, ""},
		"both must match": {infrav1.HostSelector{MatchLabels: map[string]string{"rack": "a"}, MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "gpu", Operator: "exists"}}}, false, ""},
		"bad operator":    {infrav1.HostSelector{MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "rack", Operator: "like"}}}, false, "spec.hostSelector.matchExpressions[0]"},
		"bad key":         {infrav1.HostSelector{MatchLabels: map[string]string{"a b": "c"}}, false, "spec.hostSelector.matchLabels[a b]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			selector, err := hosts.Selector(tc.spec)
			if tc.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(selector.Matches(host)).To(Equal(tc.matches))
		})
	}
}

func TestVacant(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for state, vacant := range map[bmov1alpha1.ProvisioningState]bool{
		bmov1alpha1.StateAvailable: true, bmov1alpha1.StateReady: true, bmov1alpha1.StateRegistering: true, bmov1alpha1.StateNone: true,
		bmov1alpha1.StatePreparing: false, bmov1alpha1.StateProvisioning: false, bmov1alpha1.StateProvisioned: false, bmov1alpha1.StateDeprovisioning: false,
		bmov1alpha1.StatePoweringOffBeforeDelete: false, bmov1alpha1.StateDeleting: false, "of a newer operator": false,
	} {
		g.Expect(hosts.Vacant(bmh(inState(state)))).To(Equal(vacant), "%q", state)
	}
	external := bmh(inState(bmov1alpha1.StateExternallyProvisioned))
	g.Expect(hosts.Vacant(external)).To(BeTrue())
	external.Status.PoweredOn = true
	g.Expect(hosts.Vacant(external)).To(BeFalse())
	external.Spec.Online = true // it must not be powered off
	g.Expect(hosts.Vacant(external)).To(BeTrue())
}

func TestTheNameOfAHostIsReadInOneWay(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": "", "ns/host": "host", "elsewhere/host": "host", "host": "host", "a/b/host": "host", "ns/": ""} {
		NewWithT(t).Expect(hosts.Named(&metav1.ObjectMeta{Annotations: map[string]string{infrav1.HostAnnotation: value}})).To(Equal(want), value)
	}
}
