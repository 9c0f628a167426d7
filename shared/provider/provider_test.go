// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

func TestBelongs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		named, assigned     string
		controlPlane, needs bool
		domain              string
		waits               bool
	}{
		"named":                              {named: "a", controlPlane: true, needs: true, domain: "a"},
		"named and assigned elsewhere":       {named: "a", assigned: "b", domain: "a"},
		"assigned":                           {assigned: "b", domain: "b"},
		"a control plane's, assigned":        {assigned: "b", controlPlane: true, needs: true, domain: "b"},
		"a control plane's with domains":     {controlPlane: true, needs: true, waits: true},
		"a control plane's without domains":  {controlPlane: true},
		"a worker of a cluster with domains": {needs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cluster, machine, infra := &providertest.Cluster{}, &clusterv1.Machine{}, &providertest.Machine{}
			cluster.Status.Distribution.ControlPlaneNeedsDomain = ptr.To(tc.needs)
			machine.Spec.FailureDomain = tc.named
			if tc.controlPlane {
				machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
			}
			if tc.assigned != "" {
				infra.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: tc.assigned}
			}
			domain, wait := provider.RequestedDomain(cluster, machine, infra, provider.Location{})
			g.Expect(domain).To(Equal(tc.domain))
			if !tc.waits {
				g.Expect(wait).To(BeZero())
				return
			}
			g.Expect(wait.Reason).To(Equal(faultlinev1.ReasonFailureDomainNotNamed))
			g.Expect(wait.Message).To(ContainSubstring("set spec.failureDomain of the Machine"))
		})
	}
}

func TestSpreadWorkerWaitsForAssignment(t *testing.T) {
	t.Parallel()
	deployment := map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}
	for name, tc := range map[string]struct {
		named, assigned, key string
		labels               map[string]string
		off, exists          bool
		logical              *int32
		domain               string
		waits                bool
	}{
		"not assigned yet":                {labels: deployment, waits: true},
		"assigned":                        {labels: deployment, assigned: "a", domain: "a"},
		"named":                           {labels: deployment, named: "b", domain: "b"},
		"it may exist already":            {labels: deployment, exists: true},
		"assigned, without its key":       {labels: deployment, assigned: "a", logical: ptr.To[int32](2), waits: true},
		"assigned with its key":           {labels: deployment, assigned: "a", key: "md-0", logical: ptr.To[int32](2), domain: "a"},
		"it exists without a key":         {labels: deployment, assigned: "a", exists: true, logical: ptr.To[int32](2), domain: "a"},
		"named, without a key":            {labels: deployment, named: "b", logical: ptr.To[int32](2), domain: "b"},
		"a MachinePool's":                 {labels: map[string]string{clusterv1.MachinePoolNameLabel: "mp"}},
		"nobody's":                        {},
		"of a cluster that spreads none":  {labels: deployment, off: true},
		"of such, and assigned in a past": {labels: deployment, off: true, assigned: "a", domain: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cluster, machine, infra := &providertest.Cluster{}, &clusterv1.Machine{}, &providertest.Machine{}
			cluster.Name = "one"
			cluster.Spec.Distribution.Workers = faultlinev1.WorkersDistribution{Enabled: ptr.To(!tc.off), DesiredFailureDomains: tc.logical}
			machine.Spec.FailureDomain, machine.Labels = tc.named, tc.labels
			infra.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: tc.assigned}
			infra.Labels = map[string]string{faultlinev1.DistributionKeyLabel: tc.key}
			domain, wait := provider.RequestedDomain(cluster, machine, infra, provider.Location{Exists: tc.exists})
			g.Expect(domain).To(Equal(tc.domain))
			if !tc.waits {
				g.Expect(wait).To(BeZero())
				return
			}
			g.Expect(wait.Reason).To(Equal(faultlinev1.ReasonFailureDomainNotAssigned))
			g.Expect(wait.Message).To(ContainSubstring("see the condition WorkersBalanced of one"))
		})
	}
}

func TestAssignmentGrace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		reason string
		age    time.Duration
		left   time.Duration
	}{
		"just made":                             {reason: faultlinev1.ReasonFailureDomainNotAssigned, left: 20 * time.Second},
		"made a moment ago":                     {reason: faultlinev1.ReasonFailureDomainNotAssigned, age: 2 * time.Second, left: 18 * time.Second},
		"not assigned in time":                  {reason: faultlinev1.ReasonFailureDomainNotAssigned, age: 20 * time.Second},
		"made long ago":                         {reason: faultlinev1.ReasonFailureDomainNotAssigned, age: time.Hour},
		"made in the next second, by its clock": {reason: faultlinev1.ReasonFailureDomainNotAssigned, age: -time.Second, left: 20 * time.Second},
		"made in an hour, by its clock":         {reason: faultlinev1.ReasonFailureDomainNotAssigned, age: -time.Hour},
		"it waits for nothing":                  {},
		"it waits for the user":                 {reason: faultlinev1.ReasonFailureDomainNotNamed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			infra := &providertest.Machine{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-tc.age))}}
			g.Expect(provider.AssignmentGrace(distribution.Refusal{Reason: tc.reason}, infra, now)).To(Equal(tc.left))
		})
	}
}

// Tests of shared controllers rely on this: the test provider's objects can be stored and read, and its Provider answers as any
// other does.
func TestProvidertest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var p provider.Provider = providertest.Provider{Seen: []distribution.DomainObservation{{Name: "a", Health: distribution.Healthy}}}
	scheme := runtime.NewScheme()
	g.Expect(providertest.AddToScheme(scheme)).To(Succeed())
	machine := &providertest.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Status: provider.Location{Domain: "a", Exists: true}}
	stored := &providertest.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	stored.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "a"}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(machine, stored).WithStatusSubresource(machine, stored).Build()

	cluster, found := p.NewCluster(), p.NewMachine()
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(stored), cluster)).To(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(machine), found)).To(Succeed())
	g.Expect(p.Location(found)).To(Equal(provider.Location{Domain: "a", Exists: true}))
	g.Expect(*cluster.FailureDomains()).To(HaveLen(1))
	g.Expect(p.Domains(t.Context(), cluster)).To(HaveLen(1))
	cluster.SetConditions([]metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}})
	g.Expect(c.Status().Update(t.Context(), cluster)).To(Succeed())
	g.Expect(cluster.GetConditions()).To(HaveLen(1))
}

func TestADomainAndAKeyThatWereAssignedUnderFormerNamesCount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster, machine, infra := &providertest.Cluster{}, &clusterv1.Machine{}, &providertest.Machine{}
	cluster.Spec.Distribution.Workers = faultlinev1.WorkersDistribution{Enabled: ptr.To(true), DesiredFailureDomains: ptr.To[int32](2)}
	machine.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}
	infra.Annotations = map[string]string{faultlinev1.FormerName(faultlinev1.AssignedFailureDomainAnnotation): "b"}
	infra.Labels = map[string]string{faultlinev1.FormerName(faultlinev1.DistributionKeyLabel): "md-0"}
	domain, wait := provider.RequestedDomain(cluster, machine, infra, provider.Location{})
	g.Expect(domain).To(Equal("b"))
	g.Expect(wait).To(BeZero())
}
