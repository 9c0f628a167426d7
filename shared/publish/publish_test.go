// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/publish"
)

func machine(name, asked, found string, controlPlane bool) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}}
	m.Spec.FailureDomain, m.Status.FailureDomain = asked, found
	if controlPlane {
		m.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	return m
}

func publisher(t *testing.T, objects ...client.Object) (*publish.Publisher, *events.FakeRecorder) {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	metrics, err := distribution.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	recorder := events.NewFakeRecorder(10)
	return &publish.Publisher{
		Client:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
		Recorder: recorder, Metrics: metrics, Clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)),
	}, recorder
}

func TestPublishCountsMachinesWhereTheyAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t, machine("asked", "a", "", true), machine("elsewhere", "a", "b", false), machine("nowhere", "", "", false))
	var published []clusterv1.FailureDomain
	var status faultlinev1.DistributionStatus
	target := publish.Target{Object: machine("cluster", "", "", false), Cluster: "c", Domains: &published, Distribution: &status}
	_, err := p.Publish(t.Context(), target, []distribution.Observation{
		{Name: "a", ControlPlane: true, Health: distribution.Good}, {Name: "b", ControlPlane: true, Health: distribution.Good},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(published).To(HaveLen(2))
	g.Expect(*status.FailureDomains[0].Machines).To(Equal(faultlinev1.MachineCounts{ControlPlane: 1}))
	g.Expect(*status.FailureDomains[1].Machines).To(Equal(faultlinev1.MachineCounts{Workers: 1}))

	p.Withdraw(target)
	g.Expect(published).To(BeNil())
	g.Expect(status).To(Equal(faultlinev1.DistributionStatus{}))
}

func TestPublishTellsOfChangesOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, recorder := publisher(t)
	var published []clusterv1.FailureDomain
	var status faultlinev1.DistributionStatus
	target := publish.Target{Object: machine("cluster", "", "", false), Cluster: "c", Domains: &published, Distribution: &status}
	for range 2 {
		former := status.FailureDomains
		_, err := p.Publish(t.Context(), target, []distribution.Observation{{Name: "a", ControlPlane: true, Health: distribution.Good}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(recorder.Events).To(HaveLen(len(former)), "nothing is told before it is stored")
		p.Announce(target, former)
	}
	g.Expect(recorder.Events).To(HaveLen(1))
	g.Expect(<-recorder.Events).To(ContainSubstring("FailureDomainActive"))
}

// A cluster taken over from another provider keeps its domains although none has been looked at yet.
func TestPublishAdoptsWhatIsPublished(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	published := []clusterv1.FailureDomain{{Name: "a", ControlPlane: ptr.To(true)}}
	var status faultlinev1.DistributionStatus
	target := publish.Target{Object: machine("cluster", "", "", false), Cluster: "c", Domains: &published, Distribution: &status}
	_, err := p.Publish(t.Context(), target, []distribution.Observation{{Name: "a", ControlPlane: true, Health: distribution.Unknown}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*published[0].ControlPlane).To(BeTrue())
}

func TestMachineThatNamesNoDomainWaitsInAClusterWithDomains(t *testing.T) {
	t.Parallel()
	needs := faultlinev1.DistributionStatus{ControlPlaneNeedsDomain: ptr.To(true)}
	for name, tc := range map[string]struct {
		machine *clusterv1.Machine
		status  faultlinev1.DistributionStatus
		waits   bool
	}{
		"a control plane's without a domain":    {machine("m", "", "", true), needs, true},
		"a control plane's with one":            {machine("m", "a", "", true), needs, false},
		"a worker without a domain":             {machine("m", "", "", false), needs, false},
		"a control plane's where there is none": {machine("m", "", "", true), faultlinev1.DistributionStatus{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := publish.Unnamed(tc.machine, tc.status)
			if !tc.waits {
				g.Expect(got).To(BeZero())
				return
			}
			g.Expect(got.Reason).To(Equal(faultlinev1.ReasonFailureDomainNotNamed))
			g.Expect(got.Message).To(ContainSubstring("spec.failureDomain"))
		})
	}
}

// The infrastructure cluster may have another name than the Cluster, under which the metrics are.
func TestMetricsOfAClusterGoWithIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	var published []clusterv1.FailureDomain
	var status faultlinev1.DistributionStatus
	target := publish.Target{Object: machine("cluster-x7k2p", "", "", false), Cluster: "c", Domains: &published, Distribution: &status}
	_, err := p.Publish(t.Context(), target, []distribution.Observation{{Name: "a", ControlPlane: true, Health: distribution.Good}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(testutil.CollectAndCount(p.Metrics)).NotTo(BeZero())
	p.Forget(client.ObjectKeyFromObject(target.Object))
	g.Expect(testutil.CollectAndCount(p.Metrics)).To(BeZero())
}

func TestMachineMoved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, after *clusterv1.Machine
		want          bool
	}{
		"asked elsewhere":        {machine("m", "a", "", true), machine("m", "b", "", true), true},
		"found where it belongs": {machine("m", "a", "", true), machine("m", "a", "a", true), false},
		"found elsewhere":        {machine("m", "a", "", true), machine("m", "a", "b", true), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(publish.MachineMoved().Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after})).To(Equal(tc.want))
		})
	}
}
