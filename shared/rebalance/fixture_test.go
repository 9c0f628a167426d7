// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/rebalance"
	"github.com/faultline-io/faultline/shared/testenv"
)

var (
	apiServer *rest.Config
	scheme    = runtime.NewScheme()
)

// The tests share a real API server, because they depend on its conflicts and its handling of annotations.
func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, providertest.AddToScheme)
	utilruntime.Must(kinds.AddToScheme(scheme))
	testenv.Main(m, testenv.Options{
		Scheme: scheme, ClusterAPI: true, ControlPlane: true, CRDs: append(providertest.CRDs(), providertest.CRD(inventoryKind()), providertest.RKE2CRD()),
	}, func(env *envtest.Environment) error {
		apiServer = env.Config
		return nil
	})
}

// fixture is a Cluster with a control plane whose controller is simulated by the test.
type fixture struct {
	*WithT
	t        *testing.T
	client   client.WithWatch
	name     string // namespace
	clock    *clocktesting.FakePassiveClock
	metrics  *prometheus.Registry
	counts   *distribution.Metrics
	recorder *events.FakeRecorder
	seen     []distribution.DomainObservation
	declared string // the version of the control plane provider in the manager's flag
	rke2     string // that of RKE2ControlPlanes
}

// newFixture creates machines m0, m1, ... in the domains named by the letters, and all domains with these letters.
func newFixture(t *testing.T, layout, domains string) *fixture {
	t.Helper()
	w := &fixture{WithT: integration.NewGomega(t), t: t, clock: clocktesting.NewFakePassiveClock(time.Now()), metrics: prometheus.NewRegistry(), recorder: events.NewFakeRecorder(100), declared: machines.Kubeadm{}.Facts().OldestTested, rke2: machines.RKE2{}.Facts().OldestTested}
	var err error
	w.counts, err = distribution.NewMetrics(w.metrics)
	w.Expect(err).NotTo(HaveOccurred())
	w.client, err = client.NewWithWatch(apiServer, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	w.name = integration.NewNamespace(t, w.client)
	w.cluster()
	w.controlPlane(len(layout))
	w.domains(domains, time.Hour)
	for i, d := range layout {
		w.machine(fmt.Sprintf("m%d", i), string(d))
	}
	return w
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "one"}}
}

func (w *fixture) create(o client.Object) {
	w.t.Helper()
	w.Expect(w.client.Create(w.t.Context(), o)).To(Succeed())
}

func (w *fixture) status(o client.Object) {
	w.t.Helper()
	w.Expect(w.client.Status().Update(w.t.Context(), o)).To(Succeed())
}

func (w *fixture) get(o client.Object) {
	w.t.Helper()
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
}

func (w *fixture) cluster() {
	w.t.Helper()
	infra := &providertest.Cluster{ObjectMeta: w.meta("one")}
	infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceSurgeOne
	w.user().Cluster(infra)
}

func (w *fixture) user() integration.User {
	return integration.User{T: w.t, G: w.WithT, Client: w.client}
}

// plane returns the simulated control plane.
func (w *fixture) plane() providertest.ControlPlane {
	return providertest.ControlPlane{Client: w.client, Cluster: w.request().NamespacedName}
}

func (w *fixture) controlPlane(replicas int) {
	w.t.Helper()
	w.Expect(w.plane().Create(w.t.Context(), int32(replicas), clusterv1.ContractVersionedObjectReference{
		APIGroup: providertest.GroupVersion.Group, Kind: "MachineTemplate", Name: "template",
	})).To(Succeed())
}

// settle reports the control plane's current spec as observed, and its machines as up to date or not.
func (w *fixture) settle(upToDate bool) {
	w.t.Helper()
	w.Expect(w.plane().Report(w.t.Context(), upToDate)).To(Succeed())
}

func (w *fixture) kcp() *controlplanev1.KubeadmControlPlane {
	w.t.Helper()
	kcp := &controlplanev1.KubeadmControlPlane{ObjectMeta: w.meta("one")}
	w.get(kcp)
	return kcp
}

// domains sets that the domains have been Active for the given time, and copies them to the Cluster.
func (w *fixture) domains(names string, ago time.Duration) {
	w.t.Helper()
	infra, owner := w.infra(), w.owner()
	infra.Status.Distribution.FailureDomains, owner.Status.FailureDomains, w.seen = nil, nil, nil
	for _, d := range names {
		infra.Status.Distribution.FailureDomains = append(infra.Status.Distribution.FailureDomains, faultlinev1.DomainStatus{
			Name: string(d), State: faultlinev1.DomainActive, ControlPlane: ptr.To(true), Health: faultlinev1.DomainHealthy,
		})
		owner.Status.FailureDomains = append(owner.Status.FailureDomains, clusterv1.FailureDomain{Name: string(d), ControlPlane: ptr.To(true)})
		w.seen = append(w.seen, distribution.DomainObservation{Name: string(d), ControlPlane: true, Health: distribution.Healthy})
	}
	infra.Status.Distribution.FailureDomainsSince = metav1.NewTime(w.clock.Now().Add(-ago))
	w.status(infra)
	w.status(owner)
}

func (w *fixture) infra() *providertest.Cluster {
	w.t.Helper()
	infra := &providertest.Cluster{ObjectMeta: w.meta("one")}
	w.get(infra)
	return infra
}

func (w *fixture) owner() *clusterv1.Cluster {
	w.t.Helper()
	owner := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	w.get(owner)
	return owner
}

// machine creates a Ready machine in a domain.
func (w *fixture) machine(name, domain string) {
	w.t.Helper()
	infra := &providertest.Machine{ObjectMeta: w.meta(name)}
	infra.Annotations = map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation: "template", clusterv1.TemplateClonedFromGroupKindAnnotation: "MachineTemplate." + providertest.GroupVersion.Group,
	}
	w.user().Machine("one", domain, infra, func(machine *clusterv1.Machine) {
		machine.Labels[clusterv1.MachineControlPlaneLabel], machine.Finalizers = "", []string{clusterv1.MachineFinalizer}
	})
	w.Expect(w.plane().Joined(w.t.Context(), name)).To(Succeed())
	machine := w.machineNow(name)
	machine.Status.FailureDomain = domain
	w.status(machine)
}

func (w *fixture) machineNow(name string) *clusterv1.Machine {
	w.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name)}
	w.get(machine)
	return machine
}

// clonedFrom returns the template from which the infrastructure machine was cloned, according to its annotation.
func (w *fixture) clonedFrom(name string) string {
	w.t.Helper()
	infra := &providertest.Machine{ObjectMeta: w.meta(name)}
	w.get(infra)
	return infra.Annotations[clusterv1.TemplateClonedFromNameAnnotation]
}

// marked lists the machines with any annotation of a move.
func (w *fixture) marked() []string {
	w.t.Helper()
	list := &clusterv1.MachineList{}
	w.Expect(w.client.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
	var names []string
	for i := range list.Items {
		_, asked := list.Items[i].Annotations[clusterv1.DeleteMachineAnnotation]
		_, ours := list.Items[i].Annotations[faultlinev1.MarkedForMoveAnnotation]
		if asked || ours || w.clonedFrom(list.Items[i].Name) != "template" {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

// setMachine sets a condition of a machine.
func (w *fixture) setMachine(name, condition string, is metav1.ConditionStatus, reason string) {
	w.t.Helper()
	machine := w.machineNow(name)
	conditions.Set(machine, metav1.Condition{Type: condition, Status: is, Reason: reason})
	w.status(machine)
}

// notice makes the control plane report a machine as not up to date.
func (w *fixture) notice(name string) {
	w.t.Helper()
	w.setMachine(name, clusterv1.MachineUpToDateCondition, metav1.ConditionFalse, "NotUpToDate")
	w.settle(false)
}

func (w *fixture) delete(name string) {
	w.t.Helper()
	w.Expect(w.client.Delete(w.t.Context(), w.machineNow(name))).To(Succeed())
}

// isDeleted removes a machine that is being deleted.
func (w *fixture) isDeleted(name string) {
	w.t.Helper()
	machine := w.machineNow(name)
	machine.Finalizers = nil
	w.Expect(w.client.Update(w.t.Context(), machine)).To(Succeed())
}

// live returns an API server whose inventory is limited to that of the test.
func (w *fixture) live() client.Reader {
	return interceptor.NewClient(w.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Kind == "Provider" {
				opts = append(opts, client.InNamespace(w.name))
			}
			return c.List(ctx, list, opts...)
		},
	})
}

// reconciler returns the reconciler of a manager that has just started.
func (w *fixture) reconciler(c client.Client) *rebalance.Reconciler {
	return &rebalance.Reconciler{
		Client: c, Live: w.live(), Provider: providertest.Provider{Seen: w.seen}, Recorder: w.recorder, Clock: w.clock, Metrics: w.counts,
		Versions: map[string]string{"kubeadm": w.declared, "rke2": w.rke2},
	}
}

func (w *fixture) request() ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.name, Name: "one"}}
}

// reconcile runs one reconcile of a manager that has just started.
func (w *fixture) reconcile() ctrl.Result {
	w.t.Helper()
	result, err := w.reconciler(w.client).Reconcile(w.t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	return result
}

// condition checks status and reason of the condition and returns its message.
func (w *fixture) condition(status metav1.ConditionStatus, reason string) string {
	w.t.Helper()
	condition := conditions.Get(w.infra(), faultlinev1.ControlPlaneBalancedCondition)
	w.Expect(condition).NotTo(BeNil())
	w.Expect(*condition).To(And(HaveField("Status", status), HaveField("Reason", reason)), condition.Message)
	return condition.Message
}

func (w *fixture) known() faultlinev1.ControlPlaneDistributionStatus {
	w.t.Helper()
	return w.infra().Status.Distribution.ControlPlane
}
