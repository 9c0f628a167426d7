// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/quorum"
	"github.com/faultline-io/faultline/shared/testenv"
	"github.com/faultline-io/faultline/shared/watch"
)

var (
	apiServer *rest.Config
	scheme    = runtime.NewScheme()
	// external is a kind of control plane that Faultline has no code for.
	external = schema.GroupVersionKind{Group: controlplanev1.GroupVersion.Group, Version: "v1alpha7", Kind: "ExternalControlPlane"}
)

// The tests share a real API server, because they depend on its conflicts, finalizers and watches. Every test has its own
// namespace and manager.
func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, providertest.AddToScheme)
	utilruntime.Must(kinds.AddToScheme(scheme))
	testenv.Main(m, testenv.Options{
		Scheme: scheme, ClusterAPI: true, ControlPlane: true, CRDs: append(providertest.CRDs(), providertest.CRD(external), providertest.RKE2CRD()),
	}, func(env *envtest.Environment) error {
		apiServer = env.Config
		return nil
	})
}

// fixture is a Cluster with a control plane; the test simulates their controllers and that of Machines.
type fixture struct {
	*WithT
	t        *testing.T
	client   client.Client
	name     string // namespace
	plane    client.Object
	recorder *events.FakeRecorder
	stop     func()
	config   *rest.Config // of the manager, if it differs from that of the test
	filter   string       // the manager's --watch-filter
	// reader and writer wrap the manager's reader and client. They may be nil.
	reader func(client.Reader) client.Reader
	writer func(client.Client) client.Client
}

// newFixture creates the given number of healthy machines m0, m1, ..., and no manager yet.
func newFixture(t *testing.T, machines int, kind schema.GroupVersionKind) *fixture {
	t.Helper()
	w := &fixture{WithT: integration.NewGomega(t), t: t, recorder: events.NewFakeRecorder(100)}
	w.reader = func(r client.Reader) client.Reader { return r }
	w.writer = func(c client.Client) client.Client { return c }
	var err error
	w.client, err = client.New(apiServer, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	w.name = integration.NewNamespace(t, w.client)
	w.cluster(kind)
	w.controlPlane(kind, machines)
	for i := range machines {
		w.machine(fmt.Sprintf("m%d", i))
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

// change changes an object, or its status, and retries on conflict.
func change[T client.Object](w *fixture, o T, write func(context.Context, client.Client, client.Object) error, change func(T)) {
	w.t.Helper()
	integration.Update(integration.User{T: w.t, G: w.WithT, Client: w.client}, o, write, change)
}

func (w *fixture) cluster(controlPlane schema.GroupVersionKind) {
	w.t.Helper()
	owner := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	owner.Finalizers = []string{clusterv1.ClusterFinalizer}
	owner.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: providertest.GroupVersion.Group, Kind: "Cluster", Name: "infra"}
	owner.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlPlane.Group, Kind: controlPlane.Kind, Name: "plane"}
	w.create(owner)
	infra := &providertest.Cluster{ObjectMeta: w.meta("infra")}
	infra.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "one", UID: owner.UID}}
	infra.Spec.Distribution.ControlPlane.ProtectQuorum = ptr.To(true)
	w.create(infra)
}

func (w *fixture) controlPlane(kind schema.GroupVersionKind, replicas int) {
	w.t.Helper()
	if kind.Kind == "KubeadmControlPlane" {
		kcp := &controlplanev1.KubeadmControlPlane{ObjectMeta: w.meta("plane")}
		kcp.Spec.Replicas, kcp.Spec.Version = ptr.To(int32(replicas)), "v1.36.0"
		kcp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: providertest.GroupVersion.Group, Kind: "MachineTemplate", Name: "template"}
		w.create(kcp)
		kcp.SetGroupVersionKind(kind)
		w.plane = kcp
		return
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(replicas)}}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(w.name)
	object.SetName("plane")
	object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "one"})
	object.SetFinalizers([]string{"example.com/plane"})
	w.create(object)
	w.plane = object
}

// scale sets the desired number of machines.
func (w *fixture) scale(replicas int) {
	w.t.Helper()
	change(w, w.plane.(*unstructured.Unstructured), integration.Whole, func(o *unstructured.Unstructured) {
		w.Expect(unstructured.SetNestedField(o.Object, int64(replicas), "spec", "replicas")).To(Succeed())
	})
}

// machine creates a healthy machine that has joined.
func (w *fixture) machine(name string) {
	w.t.Helper()
	w.newMachine(name)
	w.joined(name)
}

func (w *fixture) newMachine(name string) {
	w.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name)}
	machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	machine.Finalizers = []string{clusterv1.MachineFinalizer}
	gvk := w.plane.GetObjectKind().GroupVersionKind()
	machine.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: "plane", UID: w.plane.GetUID(), Controller: ptr.To(true),
	}}
	machine.Spec = clusterv1.MachineSpec{
		ClusterName: "one", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("bootstrap")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: providertest.GroupVersion.Group, Kind: "Machine", Name: name},
	}
	w.create(machine)
}

func (w *fixture) joined(name string) {
	w.t.Helper()
	change(w, &clusterv1.Machine{ObjectMeta: w.meta(name)}, integration.Status, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
		conditions.Set(m, metav1.Condition{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready"})
	})
}

func (w *fixture) setCondition(name, condition string, is metav1.ConditionStatus, reason string) {
	w.t.Helper()
	change(w, &clusterv1.Machine{ObjectMeta: w.meta(name)}, integration.Status, func(m *clusterv1.Machine) {
		conditions.Set(m, metav1.Condition{Type: condition, Status: is, Reason: reason})
	})
}

// delete deletes a machine; Cluster API drains it and then waits for hooks.
func (w *fixture) delete(name string) {
	w.t.Helper()
	w.Expect(w.client.Delete(w.t.Context(), &clusterv1.Machine{ObjectMeta: w.meta(name)})).To(Succeed())
	w.setCondition(name, clusterv1.MachineDeletingCondition, metav1.ConditionTrue, clusterv1.MachineDeletingWaitingForPreTerminateHookReason)
}

// isDeleted removes a machine that is no longer held.
func (w *fixture) isDeleted(name string) {
	w.t.Helper()
	change(w, &clusterv1.Machine{ObjectMeta: w.meta(name)}, integration.Whole, func(m *clusterv1.Machine) { m.Finalizers = nil })
}

// hook returns the value of a machine's hook, and whether it has one.
func (w *fixture) hook(name string) (string, bool) {
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name)}
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	says, has := machine.Annotations[faultlinev1.QuorumHookAnnotation]
	return says, has
}

// hooked waits until exactly these machines have the hook.
func (w *fixture) hooked(names ...string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) []string {
		list := &clusterv1.MachineList{}
		g.Expect(w.client.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
		have := []string{}
		for i := range list.Items {
			if _, has := list.Items[i].Annotations[faultlinev1.QuorumHookAnnotation]; has {
				have = append(have, list.Items[i].Name)
			}
		}
		return have
	}).Should(ConsistOf(names))
}

// waitForMessage waits until the hook on a machine has the given value.
func (w *fixture) waitForMessage(name, why string) {
	w.t.Helper()
	w.Eventually(func() string {
		says, _ := w.hook(name)
		return says
	}).Should(ContainSubstring(why))
}

// protected waits until the QuorumProtected condition has the given state.
func (w *fixture) protected(status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		infra := &providertest.Cluster{ObjectMeta: w.meta("infra")}
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(infra), infra)).To(Succeed())
		g.Expect(conditions.Get(infra, faultlinev1.QuorumProtectedCondition)).To(HaveValue(And(
			HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message)))))
	}).Should(Succeed())
}

func (w *fixture) setWanted(wanted bool) {
	w.t.Helper()
	change(w, &providertest.Cluster{ObjectMeta: w.meta("infra")}, integration.Whole, func(infra *providertest.Cluster) {
		infra.Spec.Distribution.ControlPlane.ProtectQuorum = &wanted
	})
}

// start starts a manager.
func (w *fixture) start() {
	w.t.Helper()
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	w.stop = integration.Start(w.t, cmp.Or(w.config, apiServer), nil, options, func(ctx context.Context, mgr ctrl.Manager) error {
		return (&quorum.Reconciler{
			Client: w.writer(mgr.GetClient()), Live: w.reader(mgr.GetAPIReader()), Provider: providertest.Provider{}, Recorder: w.recorder,
		}).SetupWithManager(ctx, mgr, w.filter, watch.Concurrency(2))
	})
}
