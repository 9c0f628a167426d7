// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/spread"
	"github.com/faultline-io/faultline/shared/testenv"
)

// All tests share a real API server; every test has its own namespace.
var (
	apiServer *rest.Config
	scheme    = runtime.NewScheme()
	api       client.Client
)

func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, providertest.AddToScheme)
	utilruntime.Must(kinds.AddToScheme(scheme))
	testenv.Main(m, testenv.Options{Scheme: scheme, ClusterAPI: true, CRDs: providertest.CRDs()}, func(env *envtest.Environment) (err error) {
		apiServer = rest.CopyConfig(env.Config)
		apiServer.QPS, apiServer.Burst = 1000, 1000
		api, err = client.New(apiServer, client.Options{Scheme: scheme})
		return err
	})
}

// fixture is a cluster named one with three failure domains, and a MachineDeployment md whose MachineSet is simulated by the test.
type fixture struct {
	*WithT
	t        *testing.T
	name     string // namespace
	infra    *providertest.Cluster
	made     int
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
	metrics  *distribution.Metrics
	registry *prometheus.Registry
}

func newFixture(t *testing.T, wanted faultlinev1.WorkersDistribution) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	w := &fixture{
		WithT: g, t: t, clock: clocktesting.NewFakePassiveClock(time.Now()), recorder: events.NewFakeRecorder(10000),
		registry: prometheus.NewRegistry(),
	}
	var err error
	w.metrics, err = distribution.NewMetrics(w.registry)
	g.Expect(err).NotTo(HaveOccurred())
	w.name = integration.NewNamespace(t, api)
	w.infra = &providertest.Cluster{ObjectMeta: w.meta("one")}
	wanted.Enabled = ptr.To(true)
	w.infra.Spec.Distribution.Workers = wanted
	w.user().Cluster(w.infra)
	w.domains("a b c")
	w.deployment("md")
	return w
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "one"}}
}

func (w *fixture) create(o client.Object) {
	w.t.Helper()
	w.Expect(api.Create(w.t.Context(), o)).To(Succeed(), "creating %T %s", o, o.GetName())
}

// change applies a change to the latest state of an object.
func change[T client.Object](w *fixture, o T, status bool, how func(T)) {
	w.t.Helper()
	write := integration.Whole
	if status {
		write = integration.Status
	}
	integration.Update(w.user(), o, write, how)
}

func (w *fixture) user() integration.User { return integration.User{T: w.t, G: w.WithT, Client: api} }

// domains publishes domains written as "a b=2 c!Cordoned" that have existed for a day.
func (w *fixture) domains(text string) {
	w.t.Helper()
	change(w, w.infra, true, func(infra *providertest.Cluster) {
		infra.Status.Distribution.FailureDomains = nil
		infra.Status.Distribution.FailureDomainsSince = metav1.NewTime(time.Now().Add(-24 * time.Hour).Truncate(time.Second))
		for _, domain := range domains(text) {
			state := faultlinev1.DomainState(domain.State)
			if state == "" {
				state = faultlinev1.DomainActive
			}
			status := faultlinev1.DomainStatus{Name: domain.Name, State: state, Health: faultlinev1.DomainHealthy}
			if domain.Capacity != nil {
				status.Capacity = ptr.To(int32(*domain.Capacity))
			}
			infra.Status.Distribution.FailureDomains = append(infra.Status.Distribution.FailureDomains, status)
		}
	})
}

func (w *fixture) want(how func(*faultlinev1.WorkersDistribution)) {
	w.t.Helper()
	change(w, w.infra, false, func(infra *providertest.Cluster) { how(&infra.Spec.Distribution.Workers) })
}

func (w *fixture) deployment(name string) {
	w.t.Helper()
	w.user().MachineDeployment("one", 0, &providertest.Machine{ObjectMeta: w.meta(name)})
}

func (w *fixture) machineSpec(name string) clusterv1.MachineSpec {
	return clusterv1.MachineSpec{
		ClusterName: "one", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: providertest.GroupVersion.Group, Kind: "Machine", Name: name},
	}
}

// scale sets the replicas of the MachineDeployment and simulates its MachineSet: it creates missing machines, and deletes surplus
// ones in the order of Cluster API's MachineSet.
func (w *fixture) scale(deployment string, replicas int32) {
	w.t.Helper()
	md := &clusterv1.MachineDeployment{ObjectMeta: w.meta(deployment)}
	change(w, md, false, func(md *clusterv1.MachineDeployment) { md.Spec.Replicas = ptr.To(replicas) })
	w.replenish(deployment)
	machines := w.machines(deployment)
	slices.SortFunc(machines, func(a, b clusterv1.Machine) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), strings.Compare(a.Name, b.Name))
	})
	for _, machine := range machines[:max(0, len(machines)-int(replicas))] {
		w.remove(&machine)
	}
}

// rank returns the machine's deletion priority in Cluster API's MachineSet with the deletion order Random.
func rank(machine clusterv1.Machine) int {
	_, marked := machine.Annotations[clusterv1.DeleteMachineAnnotation]
	switch {
	case marked:
		return 80
	case !machine.Status.NodeRef.IsDefined() || conditions.IsFalse(&machine, clusterv1.MachineNodeHealthyCondition) ||
		conditions.IsFalse(&machine, clusterv1.MachineHealthCheckSucceededCondition):
		return 50
	}
	return 20
}

func (w *fixture) remove(machine *clusterv1.Machine) {
	w.t.Helper()
	w.Expect(client.IgnoreNotFound(api.Delete(w.t.Context(), machine))).To(Succeed())
	w.Expect(client.IgnoreNotFound(api.Delete(w.t.Context(), &providertest.Machine{ObjectMeta: w.meta(machine.Name)}))).To(Succeed())
}

// replenish creates missing machines, and sets the MachineDeployment's status as if all were healthy.
func (w *fixture) replenish(deployment string) {
	w.t.Helper()
	md := &clusterv1.MachineDeployment{ObjectMeta: w.meta(deployment)}
	w.Expect(api.Get(w.t.Context(), client.ObjectKeyFromObject(md), md)).To(Succeed())
	for range max(0, int(*md.Spec.Replicas)-len(w.machines(deployment))) {
		w.made++
		w.machine(deployment, fmt.Sprintf("%s-%04d", deployment, w.made))
	}
	change(w, md, true, func(md *clusterv1.MachineDeployment) {
		n := ptr.To(*md.Spec.Replicas)
		md.Status.ObservedGeneration, md.Status.Replicas, md.Status.AvailableReplicas, md.Status.UpToDateReplicas = md.Generation, n, n, n
	})
}

func (w *fixture) machine(deployment, name string, changes ...func(*clusterv1.Machine)) {
	w.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name), Spec: w.machineSpec(name)}
	machine.Labels[clusterv1.MachineDeploymentNameLabel], machine.Labels[clusterv1.MachineSetNameLabel] = deployment, deployment+"-set"
	for _, change := range changes {
		change(machine)
	}
	w.create(&providertest.Machine{ObjectMeta: w.meta(name)})
	w.create(machine)
}

// machines lists those of a MachineDeployment by name.
func (w *fixture) machines(deployment string) []clusterv1.Machine {
	w.t.Helper()
	list := &clusterv1.MachineList{}
	w.Expect(api.List(w.t.Context(), list, client.InNamespace(w.name), client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: deployment})).To(Succeed())
	return list.Items
}

// exist makes all assigned machines exist and join, as a provider does.
func (w *fixture) exist() {
	w.t.Helper()
	list := &providertest.MachineList{}
	w.Expect(api.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
	for i := range list.Items {
		domain := list.Items[i].Annotations[faultlinev1.AssignedFailureDomainAnnotation]
		if domain != "" && !list.Items[i].Status.Exists {
			change(w, &list.Items[i], true, func(m *providertest.Machine) { m.Status.Domain, m.Status.Exists = domain, true })
			w.join(list.Items[i].Name)
		}
	}
}

// join sets the Node of a Machine.
func (w *fixture) join(name string) {
	w.t.Helper()
	change(w, &clusterv1.Machine{ObjectMeta: w.meta(name)}, true, func(m *clusterv1.Machine) { m.Status.NodeRef.Name = name })
}

// placed counts the machines of a MachineDeployment by the assigned domain of their infrastructure machines, or by key.
func (w *fixture) placed(deployment string, by func(*providertest.Machine) string) map[string]int {
	w.t.Helper()
	counts := map[string]int{}
	for _, machine := range w.machines(deployment) {
		infra := &providertest.Machine{ObjectMeta: w.meta(machine.Name)}
		w.Expect(api.Get(w.t.Context(), client.ObjectKeyFromObject(infra), infra)).To(Succeed())
		counts[by(infra)]++
	}
	return counts
}

func domain(m *providertest.Machine) string {
	return m.Annotations[faultlinev1.AssignedFailureDomainAnnotation]
}
func key(m *providertest.Machine) string { return m.Labels[faultlinev1.DistributionKeyLabel] }

// counting counts the requests that change infrastructure machines, and fails after a number of them.
type counting struct {
	client.Client
	patches atomic.Int32
	enough  int32
	// frozen is returned for lists instead of the API server's response, like a stale cache.
	frozen client.ObjectList
}

func (c *counting) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if _, infra := o.(*providertest.Machine); infra {
		if n := c.patches.Add(1); c.enough > 0 && n > c.enough {
			return errors.New("the manager was killed")
		}
	}
	return c.Client.Patch(ctx, o, p, opts...)
}

func (c *counting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if infra, ok := list.(*providertest.MachineList); ok && c.frozen != nil {
		infra.Items = c.frozen.DeepCopyObject().(*providertest.MachineList).Items
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

func (w *fixture) reconciler(c client.Client) *spread.Reconciler {
	return &spread.Reconciler{
		Client: c, Live: api, Recorder: w.recorder, Clock: w.clock, Metrics: w.metrics, Provider: providertest.Provider{},
	}
}

// reconcile reconciles until no immediate requeue is left.
func (w *fixture) reconcile(r *spread.Reconciler) {
	w.t.Helper()
	for range 20 {
		result, err := r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
		w.Expect(err).NotTo(HaveOccurred())
		if result != reconcile.Again() && (result.RequeueAfter == 0 || result.RequeueAfter > time.Minute) {
			return
		}
		w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
	}
	w.t.Fatalf("it does not come to an end: %v", w.balanced())
}

// balanced returns the stored WorkersBalanced condition.
func (w *fixture) balanced() metav1.Condition {
	w.t.Helper()
	w.Expect(api.Get(w.t.Context(), client.ObjectKeyFromObject(w.infra), w.infra)).To(Succeed())
	if condition := conditions.Get(w.infra, faultlinev1.WorkersBalancedCondition); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

func (w *fixture) workers() faultlinev1.WorkersDistributionStatus {
	w.t.Helper()
	w.Expect(api.Get(w.t.Context(), client.ObjectKeyFromObject(w.infra), w.infra)).To(Succeed())
	w.Expect(w.infra.Status.Distribution.Workers).To(HaveLen(1))
	return w.infra.Status.Distribution.Workers[0]
}

// marked lists the machines that should be deleted first.
func (w *fixture) marked(deployment string) []string {
	w.t.Helper()
	var names []string
	for _, machine := range w.machines(deployment) {
		if _, marked := machine.Annotations[clusterv1.DeleteMachineAnnotation]; marked {
			names = append(names, machine.Name)
		}
	}
	return names
}
