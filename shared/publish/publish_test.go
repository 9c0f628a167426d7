// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"slices"
	"strings"
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
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/status"
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
	g.Expect(providertest.AddToScheme(scheme)).To(Succeed())
	metrics, err := distribution.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	recorder := events.NewFakeRecorder(10)
	return &publish.Publisher{
		Client:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
		Recorder: recorder, Metrics: metrics, Clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)),
	}, recorder
}

func unwaited(*providertest.Machine) string { return "" }

func cluster(name string, published ...clusterv1.FailureDomain) *providertest.Cluster {
	c := &providertest.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	c.Status.FailureDomains = published
	return c
}

func TestPublishCountsMachinesWhereTheyAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t, machine("asked", "a", "", true), machine("elsewhere", "a", "b", false), machine("nowhere", "", "", false))
	infra := cluster("cluster")
	domains := p.Of(infra, "c")
	_, err := publish.Publish(t.Context(), domains, []distribution.DomainObservation{
		{Name: "a", ControlPlane: true, Health: distribution.Healthy}, {Name: "b", ControlPlane: true, Health: distribution.Healthy},
	}, &providertest.Machine{}, unwaited)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(infra.Status.FailureDomains).To(HaveLen(2))
	g.Expect(*infra.Status.Distribution.FailureDomains[0].Machines).To(Equal(faultlinev1.MachineCounts{ControlPlane: 1}))
	g.Expect(*infra.Status.Distribution.FailureDomains[1].Machines).To(Equal(faultlinev1.MachineCounts{Workers: 1}))

	domains.Remove()
	g.Expect(infra.Status.Distribution).To(BeZero())
	g.Expect(infra.Status.FailureDomains).To(BeNil())
}

func TestMisplacedMachines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, recorder := publisher(t, machine("asked", "a", "", true), machine("there", "a", "a", true), machine("elsewhere", "a", "b", false))
	infra := cluster("cluster")
	seen := []distribution.DomainObservation{{Name: "a", Health: distribution.Healthy}, {Name: "b", Health: distribution.Healthy}}
	for _, told := range []int{1, 0} {
		domains := p.Of(infra, "c")
		_, err := publish.Publish(t.Context(), domains, seen, &providertest.Machine{}, unwaited)
		g.Expect(err).NotTo(HaveOccurred())
		domains.RecordEvents()
		warnings := 0
		for len(recorder.Events) > 0 {
			if event := <-recorder.Events; strings.Contains(event, faultlinev1.ReasonMachinesElsewhere) {
				warnings++
			}
		}
		g.Expect(warnings).To(Equal(told))
	}
	said := conditions.Get(infra, faultlinev1.MachinesInPlaceCondition)
	g.Expect(said.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(said.Message).To(HavePrefix("Machine elsewhere is in failure domain b, although its spec.failureDomain is a\n"))
	g.Expect(testutil.CollectAndCount(p.Metrics, "faultline_failure_domain_misplaced_machines")).To(Equal(1))
}

func TestMisplacedWorker(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := func(name, assigned, found string) []client.Object {
		m, infra := machine(name, "", found, false), &providertest.Machine{}
		m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: providertest.GroupVersion.Group, Kind: "Machine", Name: name}
		infra.ObjectMeta = *m.ObjectMeta.DeepCopy()
		infra.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: assigned}
		return []client.Object{m, infra}
	}
	p, recorder := publisher(t, slices.Concat(made("moved", "a", "b"), made("there", "a", "a"), made("not-yet", "a", ""), made("older", "", "b"))...)
	infra := cluster("cluster")
	domains := p.Of(infra, "c")
	seen := []distribution.DomainObservation{{Name: "a", Health: distribution.Healthy}, {Name: "b", Health: distribution.Healthy}}
	_, err := publish.Publish(t.Context(), domains, seen, &providertest.Machine{}, unwaited)
	g.Expect(err).NotTo(HaveOccurred())
	domains.RecordEvents()
	g.Expect(conditions.GetMessage(infra, faultlinev1.MachinesInPlaceCondition)).To(HavePrefix("Machine moved is in failure domain b, although it was assigned a\nmove"))
	g.Expect(recorder.Events).To(Receive(ContainSubstring("Machine moved is in failure domain b")))
	g.Expect(testutil.CollectAndCompare(p.Metrics, strings.NewReader(`
# HELP faultline_failure_domain_misplaced_machines Machines in another failure domain than the requested one.
# TYPE faultline_failure_domain_misplaced_machines gauge
faultline_failure_domain_misplaced_machines{cluster="c",namespace="ns"} 1
`), "faultline_failure_domain_misplaced_machines")).To(Succeed())
	g.Expect(*infra.Status.Distribution.FailureDomains[0].Machines).To(Equal(faultlinev1.MachineCounts{Workers: 1}), "one that is not there yet counts when it is")
}

func TestPublishEvents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, recorder := publisher(t)
	infra := cluster("cluster")
	for told := range 2 {
		domains := p.Of(infra, "c")
		_, err := publish.Publish(t.Context(), domains, []distribution.DomainObservation{{Name: "a", ControlPlane: true, Health: distribution.Healthy}}, &providertest.Machine{}, unwaited)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(recorder.Events).To(HaveLen(told), "no event is recorded before the state is stored")
		domains.RecordEvents()
	}
	g.Expect(recorder.Events).To(HaveLen(1))
	g.Expect(<-recorder.Events).To(ContainSubstring("FailureDomainActive"))
}

// A cluster taken over from another provider keeps its domains although none has been checked yet.
func TestPublishAdoptsWhatIsPublished(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	infra := cluster("cluster", clusterv1.FailureDomain{Name: "a", ControlPlane: ptr.To(true)})
	_, err := publish.Publish(t.Context(), p.Of(infra, "c"), []distribution.DomainObservation{{Name: "a", ControlPlane: true, Health: distribution.Unknown}}, &providertest.Machine{}, unwaited)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*infra.Status.FailureDomains[0].ControlPlane).To(BeTrue())
}

func TestReadyWithUnhealthyDomain(t *testing.T) {
	t.Parallel()
	for name, ready := range map[string]bool{"machines can be created": true, "machines cannot be created": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p, _ := publisher(t)
			infra := cluster("cluster")
			domains := p.Of(infra, "c")
			status.True(infra, "Reachable", "Reachable")
			domains.SetReady(metav1.Condition{Status: metav1.ConditionFalse, Reason: faultlinev1.ReasonDomainsNotActive, Message: "a: down"}, ready)
			g.Expect(domains.Summarize("Reachable")).To(Succeed())
			g.Expect(domains.Ready()).To(Equal(ready))
			g.Expect(conditions.IsTrue(infra, clusterv1.ReadyCondition)).To(Equal(ready))
			g.Expect(domains.Summarize()).To(Succeed(), "a kind may have no conditions of its own")
			g.Expect(conditions.IsTrue(infra, clusterv1.ReadyCondition)).To(Equal(ready))
		})
	}
}

func TestNotReadyBeforeObservation(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	infra := cluster("cluster")
	g.Expect(p.Of(infra, "c").Summarize()).To(Succeed())
	g.Expect(conditions.IsUnknown(infra, clusterv1.ReadyCondition)).To(BeTrue())
}

func TestDomainsAreCleared(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	infra := cluster("cluster", clusterv1.FailureDomain{Name: "a", ControlPlane: ptr.To(false)})
	status.True(infra, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	domains := p.Of(infra, "c")
	g.Expect(domains.HasControlPlaneDomain()).To(BeFalse(), "it was for workers only")
	domains.Clear()
	g.Expect(infra.Status.FailureDomains).To(BeEmpty())
	g.Expect(infra.Status.Conditions).To(BeEmpty())
	g.Expect(domains.Ready()).To(BeTrue())
}

func TestWaitingMetric(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	infra := func(name, cluster, reason string) client.Object {
		return &providertest.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
			Status:     provider.Location{Domain: reason}, // stands for a reason here
		}
	}
	p, _ := publisher(t, infra("one", "c", "NoCapacity"), infra("two", "c", "NoCapacity"), infra("three", "c", ""), infra("other", "d", "NoCapacity"))
	_, err := publish.Publish(t.Context(), p.Of(cluster("cluster"), "c"), nil, &providertest.Machine{}, func(m *providertest.Machine) string { return m.Status.Domain })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(testutil.CollectAndCompare(p.Metrics, strings.NewReader(`
# HELP faultline_failure_domain_waiting_machines Machines that wait for their failure domain.
# TYPE faultline_failure_domain_waiting_machines gauge
faultline_failure_domain_waiting_machines{cluster="c",namespace="ns",reason="NoCapacity"} 2
`), "faultline_failure_domain_waiting_machines")).To(Succeed())
}

// The infrastructure cluster may have another name than the Cluster, which labels the metrics.
func TestMetricsAreForgotten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	infra := cluster("cluster-x7k2p")
	_, err := publish.Publish(t.Context(), p.Of(infra, "c"), []distribution.DomainObservation{{Name: "a", ControlPlane: true, Health: distribution.Healthy}}, &providertest.Machine{}, unwaited)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(testutil.CollectAndCount(p.Metrics)).NotTo(BeZero())
	p.Forget(client.ObjectKeyFromObject(infra))
	g.Expect(testutil.CollectAndCount(p.Metrics)).To(BeZero())
}

// The controller of workers also sets metrics of a cluster without failure domains: logical ones need no others.
func TestMetricsOfAClusterWithoutFailureDomainsAreForgotten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	infra := cluster("cluster")
	p.Of(infra, "c").Clear()
	p.Metrics.SetWorkers(client.ObjectKey{Namespace: "ns", Name: "c"}, map[string]int{"workers": 1})
	p.Of(infra, "c").Clear()
	g.Expect(testutil.CollectAndCount(p.Metrics)).To(Equal(1), "a later reconcile keeps them")
	p.Of(infra, "c").Remove()
	g.Expect(testutil.CollectAndCount(p.Metrics)).To(BeZero())
}

func TestMetricsSetWhileAClusterIsRemovedAreForgotten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	infra := cluster("cluster")
	p.Of(infra, "c").Remove()
	p.Metrics.SetWorkers(client.ObjectKey{Namespace: "ns", Name: "c"}, map[string]int{"workers": 1})
	p.Forget(client.ObjectKeyFromObject(infra))
	g.Expect(testutil.CollectAndCount(p.Metrics)).To(BeZero())
}

func TestDeletedCopyOfAnInfrastructureClusterKeepsTheMetrics(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, _ := publisher(t)
	_, err := publish.Publish(t.Context(), p.Of(cluster("cluster"), "c"), []distribution.DomainObservation{{Name: "a", ControlPlane: true, Health: distribution.Healthy}}, &providertest.Machine{}, unwaited)
	g.Expect(err).NotTo(HaveOccurred())
	p.Of(cluster("copy"), "c").Remove()
	g.Expect(testutil.CollectAndCount(p.Metrics)).NotTo(BeZero())
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

func TestWaitChanged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	changed := publish.WaitChanged(func(m *clusterv1.Machine) string { return m.Spec.FailureDomain })
	waiting, placed := machine("m", "NoCapacity", "", false), machine("m", "", "", false)
	g.Expect(changed.Create(event.CreateEvent{Object: waiting})).To(BeFalse())
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: waiting, ObjectNew: waiting})).To(BeFalse())
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: waiting, ObjectNew: placed})).To(BeTrue())
	g.Expect(changed.Delete(event.DeleteEvent{Object: placed})).To(BeTrue())
}
