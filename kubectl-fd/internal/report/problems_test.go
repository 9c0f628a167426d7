// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/rebalance"
	"github.com/faultline-io/faultline/shared/spread"
)

// controllers are those that write the reported state, without a provider's own controllers.
type controllers struct {
	client    client.Client
	seen      []distribution.DomainObservation
	publisher *publish.Publisher
	rebalance *rebalance.Reconciler
	spread    *spread.Reconciler
}

func newControllers(t *testing.T, rke2 ...schema.GroupVersionKind) *controllers {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(corev1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, providertest.AddToScheme)
	g.Expect(kinds.AddToScheme(scheme)).To(Succeed())
	// The fake client adds unknown kinds to the scheme when it lists them, and tests run in parallel.
	inventory := schema.GroupVersion{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3"}
	scheme.AddKnownTypeWithName(inventory.WithKind("Provider"), &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(inventory.WithKind("ProviderList"), &unstructured.UnstructuredList{})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{controlplanev1.GroupVersion})
	for _, kind := range rke2 {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	metrics, err := distribution.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	stored := []client.Object{
		&clusterv1.Cluster{}, &clusterv1.Machine{}, &clusterv1.MachineDeployment{}, &controlplanev1.KubeadmControlPlane{},
		&providertest.Cluster{}, &providertest.Machine{},
	}
	c := &controllers{client: fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithStatusSubresource(stored...).Build()}
	for _, domain := range []string{"a", "b", "c"} {
		c.seen = append(c.seen, distribution.DomainObservation{Name: domain, ControlPlane: true, Health: distribution.Healthy})
	}
	recorder, time, infra := events.NewFakeRecorder(10000), clock.RealClock{}, providertest.Provider{Seen: c.seen}
	c.publisher = &publish.Publisher{Client: c.client, Recorder: recorder, Clock: time, Metrics: metrics}
	c.rebalance = &rebalance.Reconciler{
		Client: c.client, Live: c.client, Provider: infra, Recorder: recorder, Clock: time, Metrics: metrics, Versions: map[string]string{"kubeadm": machines.Kubeadm{}.Facts().OldestTested, "rke2": machines.RKE2{}.Facts().OldestTested},
	}
	c.spread = &spread.Reconciler{Client: c.client, Live: c.client, Provider: infra, Recorder: recorder, Clock: time, Metrics: metrics}
	return c
}

// look makes all of them reconcile an infrastructure cluster.
func (c *controllers) look(t *testing.T, key client.ObjectKey) {
	t.Helper()
	g, infra := NewWithT(t), &providertest.Cluster{}
	g.Expect(c.client.Get(t.Context(), key, infra)).To(Succeed())
	p := patch.From(infra)
	domains := c.publisher.Of(infra, key.Name)
	result, err := publish.Publish(t.Context(), domains, c.seen, &providertest.Machine{}, func(*providertest.Machine) string { return "" })
	g.Expect(err).NotTo(HaveOccurred())
	domains.SetReady(result.Condition(), true)
	g.Expect(p.Apply(t.Context(), c.client, infra)).To(Succeed())
	_, err = c.rebalance.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.spread.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
}

// shown returns the output of kubectl fd plan for a cluster, as one line.
func (c *controllers) shown(t *testing.T, o *integration.Objects) string {
	t.Helper()
	g, machines := NewWithT(t), &clusterv1.MachineList{}
	g.Expect(c.client.List(t.Context(), machines, client.MatchingLabels{clusterv1.ClusterNameLabel: o.Name})).To(Succeed())
	infra, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Infra)
	g.Expect(err).NotTo(HaveOccurred())
	seen := report.Of(report.Observed{Cluster: o.Cluster, Infrastructure: &unstructured.Unstructured{Object: infra}, Machines: machines.Items})
	var deployments []report.Deployment
	if o.Deployment != nil {
		deployments = []report.Deployment{{Name: o.Deployment.Name, Named: o.Deployment.Spec.Template.Spec.FailureDomain}}
	}
	text := &strings.Builder{}
	g.Expect(render.Plan(text, seen, report.Plans(seen, deployments), render.Style{})).To(Succeed())
	return strings.Join(strings.Fields(text.String()), " ")
}

// environment returns a management cluster whose rows are also shown by kubectl fd plan.
func (c *controllers) environment() integration.Environment {
	return integration.Environment{
		Client: c.client, Namespace: "ns", Provider: providertest.Provider{Seen: c.seen}, Domains: [3]string{"a", "b", "c"}, AcceptsAll: true,
		Group: providertest.GroupVersion.Group, ClusterKind: "Cluster", MachineKind: "Machine",
		Cluster: func(provider.Cluster) {}, Machine: func(client.Object) {},
		Exists: func(machine client.Object, domain string) {
			machine.(*providertest.Machine).Status = provider.Location{Domain: domain, Exists: true}
		},
		Look: c.look,
		Shown: func(t *testing.T, o *integration.Objects, says []string) {
			t.Helper()
			text := c.shown(t, o)
			for _, part := range says {
				NewWithT(t).Expect(text).To(ContainSubstring(part))
			}
		},
	}
}

func TestPlanExplainsProblems(t *testing.T) {
	t.Parallel()
	environment := newControllers(t).environment()
	environment.Run(t, integration.Rows())
}

func TestPlanExplainsProblemsOfRKE2ControlPlanes(t *testing.T) {
	t.Parallel()
	c := newControllers(t, providertest.RKE2Kind("v1beta2"))
	// of creates an RKE2ControlPlane instead of the row's control plane.
	of := func(change func(*integration.Objects, *unstructured.Unstructured)) func(*integration.Objects) {
		return func(o *integration.Objects) {
			plane := providertest.RKE2ControlPlane(o.ControlPlane.ObjectMeta, "v1beta2", len(o.Machines), o.ControlPlane.Spec.MachineTemplate.Spec.InfrastructureRef)
			o.ControlPlane, o.Cluster.Spec.ControlPlaneRef.Kind = nil, plane.GetKind()
			change(o, plane)
			providertest.ReportRKE2(plane, nil)
			NewWithT(t).Expect(c.client.Create(t.Context(), plane)).To(Succeed())
		}
	}
	row := func(name, reason, message string, change func(*integration.Objects, *unstructured.Unstructured)) integration.Row {
		return integration.Row{Name: name, ControlPlane: "aab", Change: of(change), Condition: faultlinev1.ControlPlaneBalancedCondition,
			Status: metav1.ConditionFalse, Reason: reason, Message: []string{message}}
	}
	moves := row("rke2-moves", faultlinev1.ReasonMoving, "Machine rke2-moves-cp-0 is moved from %a to %c", func(*integration.Objects, *unstructured.Unstructured) {})
	moves.Moves = true
	even := row("rke2-even", faultlinev1.ReasonEvenReplicas, "RKE2ControlPlane rke2-even has spec.replicas 4: set an odd number",
		func(*integration.Objects, *unstructured.Unstructured) {})
	even.ControlPlane = "aaab"
	environment := c.environment()
	environment.Run(t, []integration.Row{
		moves, even,
		row("rke2-rollout", faultlinev1.ReasonControlPlaneNotSupported, "RKE2ControlPlane rke2-rollout has no field rollout.after: set spec.distribution.controlPlane.rebalance to SurgeOne or Advise",
			func(o *integration.Objects, _ *unstructured.Unstructured) {
				o.Wanted().ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceRolloutAfter
			}),
		row("rke2-legacy", faultlinev1.ReasonControlPlaneNotSupported, "RKE2ControlPlane rke2-legacy has the annotation controlplane.cluster.x-k8s.io/legacy",
			func(_ *integration.Objects, plane *unstructured.Unstructured) {
				plane.SetAnnotations(map[string]string{"controlplane.cluster.x-k8s.io/legacy": ""})
			}),
	})
}

func TestPlanExplainsAnUntestedVersionOfRKE2(t *testing.T) {
	t.Parallel()
	c := newControllers(t, providertest.RKE2Kind("v1beta2"))
	c.rebalance.Versions = nil
	environment := c.environment()
	environment.Run(t, []integration.Row{{
		Name: "rke2-unknown", ControlPlane: "aab", Condition: faultlinev1.ControlPlaneBalancedCondition, Status: metav1.ConditionFalse,
		Reason: faultlinev1.ReasonControlPlaneVersionNotTested, Message: []string{"the version of the rke2 control-plane provider is unknown", "--rke2-control-plane-version"},
		Change: func(o *integration.Objects) {
			plane := providertest.RKE2ControlPlane(o.ControlPlane.ObjectMeta, "v1beta2", 3, o.ControlPlane.Spec.MachineTemplate.Spec.InfrastructureRef)
			o.ControlPlane, o.Cluster.Spec.ControlPlaneRef.Kind = nil, plane.GetKind()
			providertest.ReportRKE2(plane, nil)
			NewWithT(t).Expect(c.client.Create(t.Context(), plane)).To(Succeed())
		},
	}})
}
