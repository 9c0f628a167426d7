// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/quorum"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

func TestDeletionWaitsForQuorum(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, external)
	w.setCondition("m2", clusterv1.MachineNodeReadyCondition, metav1.ConditionFalse, "NotReady")
	w.start()
	w.hooked("m0", "m1", "m2")
	w.delete("m0")
	w.waitForMessage("m0", "Machine m2: its condition NodeReady is not True")
	w.Eventually(w.recorder.Events).Should(Receive(And(ContainSubstring("WaitingForQuorum"), ContainSubstring("m2"))))
	w.setCondition("m2", clusterv1.MachineNodeReadyCondition, metav1.ConditionTrue, "Ready")
	w.hooked("m1", "m2")
}

func TestDeletionsAreSerialized(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5, external)
	w.start()
	w.hooked("m0", "m1", "m2", "m3", "m4")
	w.delete("m0")
	w.hooked("m1", "m2", "m3", "m4")
	w.delete("m1")
	w.waitForMessage("m1", "Machine m0 is deleted first: wait until it is deleted")
	w.isDeleted("m0")
	w.hooked("m2", "m3", "m4")
	w.delete("m2")
	w.waitForMessage("m2", "Machine m1 is deleted first: wait until it is deleted")
	w.isDeleted("m1")
	w.waitForMessage("m2", "wait until the new machines have joined")
	w.machine("m5")
	w.hooked("m3", "m4", "m5")
}

// rke2Hook is the hook of an RKE2ControlPlane.
const rke2Hook = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/rke2-cleanup"

// annotate adds an annotation to a machine.
func (w *fixture) annotate(name, annotation string) {
	w.t.Helper()
	change(w, &clusterv1.Machine{ObjectMeta: w.meta(name)}, integration.Whole, func(m *clusterv1.Machine) {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[annotation] = ""
	})
}

// An existing hook is removed, because the control plane would wait for it.
func TestControlPlaneWithItsOwnHookGetsNoOther(t *testing.T) {
	t.Parallel()
	for _, kind := range []schema.GroupVersionKind{controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"), providertest.RKE2Kind("v1beta2")} {
		t.Run(kind.Kind, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, 3, kind)
			w.annotate("m0", faultlinev1.QuorumHookAnnotation)
			w.start()
			w.hooked() // so the manager has reconciled
			w.delete("m0")
			w.setCondition("m1", clusterv1.MachineNodeReadyCondition, metav1.ConditionFalse, "NotReady")
			w.annotate("m2", faultlinev1.QuorumHookAnnotation)
			w.hooked() // and again, after all changes
		})
	}
}

func TestHookOfAnotherController(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, external)
	w.start()
	w.hooked("m0", "m1", "m2")
	change(w, &clusterv1.Machine{ObjectMeta: w.meta("m1")}, integration.Whole, func(m *clusterv1.Machine) {
		m.Annotations[clusterv1.PreTerminateDeleteHookAnnotationPrefix+"/theirs"] = ""
	})
	w.hooked("m0", "m2")
}

// forbidden is a reader that may not list control planes.
type forbidden struct{ client.Reader }

func (f forbidden) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if list.GetObjectKind().GroupVersionKind().Kind == external.Kind {
		return apierrors.NewForbidden(schema.GroupResource{Group: external.Group, Resource: "externalcontrolplanes"}, "", nil)
	}
	return f.Reader.List(ctx, list, opts...)
}

// stripping is a client of an API server with a mutating policy that removes hooks from writes.
type stripping struct{ client.Client }

func (s stripping) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := s.Client.Patch(ctx, o, p, opts...); err != nil {
		return err
	}
	machine, is := o.(*clusterv1.Machine)
	if !is {
		return nil
	}
	before := machine.DeepCopy()
	delete(machine.Annotations, faultlinev1.QuorumHookAnnotation)
	return s.Client.Patch(ctx, machine, client.MergeFrom(before))
}

// If protectQuorum has no effect, the infrastructure cluster reports it, not only the manager's log.
func TestQuorumNotProtectedCondition(t *testing.T) {
	t.Parallel()
	kubeadm, rke2 := controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"), providertest.RKE2Kind("v1beta2")
	for name, tc := range map[string]struct {
		kind    schema.GroupVersionKind
		change  func(*fixture)
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"a control plane with hooks": {external, func(*fixture) {}, metav1.ConditionTrue, faultlinev1.ReasonQuorumProtected, ""},
		"a KubeadmControlPlane":      {kubeadm, func(*fixture) {}, metav1.ConditionTrue, faultlinev1.ReasonProtectedByControlPlane, "sets its own hook"},
		"an RKE2ControlPlane":        {rke2, func(*fixture) {}, metav1.ConditionTrue, faultlinev1.ReasonProtectedByControlPlane, "sets its own hook"},
		"a legacy RKE2ControlPlane": {rke2, func(w *fixture) {
			w.plane.SetAnnotations(map[string]string{"controlplane.cluster.x-k8s.io/legacy": ""})
			w.Expect(w.client.Update(t.Context(), w.plane)).To(Succeed())
			for _, name := range []string{"m0", "m1", "m2"} {
				w.annotate(name, rke2Hook)
			}
		}, metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected, "Machine m0 is not protected, because it has the hook " + rke2Hook},
		"a kind that may not be read": {external, func(w *fixture) { w.reader = func(r client.Reader) client.Reader { return forbidden{r} } }, metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected, "cannot be read: allow the manager"},
		"a policy that removes hooks": {external, func(w *fixture) { w.writer = func(c client.Client) client.Client { return stripping{c} } }, metav1.ConditionFalse, faultlinev1.ReasonAnnotationsRemoved, "does not store the annotation " + faultlinev1.QuorumHookAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, 3, tc.kind)
			tc.change(w)
			w.start()
			w.protected(tc.status, tc.reason, tc.message)
		})
	}
}

func TestSingleMachineCanBeDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, external)
	w.start()
	w.hooked("m0")
	w.delete("m0")
	w.hooked()
}

func TestScaleDownToOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, external)
	w.start()
	w.hooked("m0", "m1", "m2")
	w.scale(1)
	w.delete("m0")
	w.hooked("m1", "m2")
	w.delete("m1")
	w.waitForMessage("m1", "Machine m0 is deleted first")
	w.isDeleted("m0")
	w.hooked("m2")
}

func TestScaleToZeroReleasesMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, external)
	w.scale(3)
	w.start()
	w.hooked("m0")
	w.delete("m0")
	w.waitForMessage("m0", "Of 3 members 0 would be healthy without it")
	w.scale(0)
	w.hooked()
}

func TestMachineThatNeverJoinedIsReleased(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, external)
	w.newMachine("new")
	w.setCondition("m1", clusterv1.MachineNodeReadyCondition, metav1.ConditionUnknown, "Unknown")
	w.start()
	w.hooked("m0", "m1", "m2", "new")
	w.delete("new")
	w.hooked("m0", "m1", "m2")
}

// heldForEver returns a control plane that may release no machine.
func heldForEver(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t, 3, external)
	w.setCondition("m1", clusterv1.MachineNodeReadyCondition, metav1.ConditionUnknown, "Unknown")
	w.start()
	w.hooked("m0", "m1", "m2")
	w.delete("m0")
	w.waitForMessage("m0", "Machine m1")
	return w
}

func TestClusterDeletionReleasesMachines(t *testing.T) {
	t.Parallel()
	w := heldForEver(t)
	w.Expect(w.client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: w.meta("one")})).To(Succeed())
	w.hooked()
}

func TestMissingClusterReleasesMachines(t *testing.T) {
	t.Parallel()
	w := heldForEver(t)
	w.stop()
	change(w, &clusterv1.Cluster{ObjectMeta: w.meta("one")}, integration.Whole, func(c *clusterv1.Cluster) { c.Finalizers = nil })
	w.Expect(w.client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: w.meta("one")})).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), &providertest.Cluster{ObjectMeta: w.meta("infra")})).To(Succeed())
	w.start()
	w.hooked()
}

func TestMissingClusterReleasesTheMachinesOfThisManagerOnly(t *testing.T) {
	t.Parallel()
	w := heldForEver(t)
	w.stop()
	for name, filter := range map[string]string{"m0": "this", "m1": "another", "m2": ""} {
		infra := &providertest.Machine{ObjectMeta: w.meta(name)}
		infra.Labels[clusterv1.WatchLabel] = filter
		w.create(infra)
	}
	change(w, &clusterv1.Cluster{ObjectMeta: w.meta("one")}, integration.Whole, func(c *clusterv1.Cluster) { c.Finalizers = nil })
	w.Expect(w.client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: w.meta("one")})).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), &providertest.Cluster{ObjectMeta: w.meta("infra")})).To(Succeed())
	w.filter = "this"
	w.start()
	w.hooked("m1", "m2")
	w.Consistently(func() bool { _, has := w.hook("m1"); return has }, "300ms").Should(BeTrue())
	w.stop()
	w.filter = "another"
	w.start()
	w.hooked("m2")
	w.stop()
	w.filter = ""
	w.start()
	w.hooked()
}

func TestControlPlaneDeletionReleasesMachines(t *testing.T) {
	t.Parallel()
	w := heldForEver(t)
	w.Expect(w.client.Delete(t.Context(), w.plane)).To(Succeed())
	w.hooked()
}

func TestDisablingRemovesHooks(t *testing.T) {
	t.Parallel()
	w := heldForEver(t)
	w.setWanted(false)
	w.hooked()
	w.setWanted(true)
	w.hooked("m1", "m2") // not the machine that is being deleted: it would be too late
}

func TestPausedClusterKeepsHooks(t *testing.T) {
	t.Parallel()
	w := heldForEver(t)
	w.stop()
	change(w, &clusterv1.Cluster{ObjectMeta: w.meta("one")}, integration.Whole, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	w.start() // its cache needs the pause before it reads anything
	w.setWanted(false)
	w.Consistently(func() bool { _, has := w.hook("m0"); return has }, "300ms").Should(BeTrue())
	change(w, &clusterv1.Cluster{ObjectMeta: w.meta("one")}, integration.Whole, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	w.hooked()
}

func TestSteadyState(t *testing.T) {
	t.Parallel()
	w := heldForEver(t)
	machine := &clusterv1.Machine{ObjectMeta: w.meta("m0")}
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	version := machine.ResourceVersion
	w.stop()
	w.start()
	w.newMachine("new")
	w.hooked("m0", "m1", "m2", "new") // so the manager has reconciled all of them
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	w.Expect(machine.ResourceVersion).To(Equal(version))
}

// staleCache is the cache of a manager, whose reads are stale.
type staleCache struct {
	cache.Cache
	stale *integration.Stale
}

func (c staleCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.stale.Get(ctx, key, o, opts...)
}

func (c staleCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.stale.List(ctx, list, opts...)
}

// The reconciler reads live before each write, so that it finds the hooks that it has written. The manager is not started: the test
// calls the reconciler.
func TestStaleCacheCountsRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, external)
	api, err := client.NewWithWatch(apiServer, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	options := ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, NewCache: func(config *rest.Config, o cache.Options) (cache.Cache, error) {
		idle, err := cache.New(config, o)
		return staleCache{idle, &integration.Stale{Client: api}}, err
	}}
	options.Controller.SkipNameValidation = ptr.To(true)
	mgr, err := ctrl.NewManager(apiServer, options)
	w.Expect(err).NotTo(HaveOccurred())
	sent, read := &integration.Requests{}, &integration.Requests{}
	r := &quorum.Reconciler{Client: sent.Counted(api), Live: read.Counted(api), Provider: providertest.Provider{}, Recorder: w.recorder}
	w.Expect(r.SetupWithManager(t.Context(), mgr, "", watch.Concurrency(1))).To(Succeed())
	run := func() ctrl.Result {
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.name, Name: "one"}})
		w.Expect(err).NotTo(HaveOccurred())
		return result
	}
	run()
	w.hooked("m0", "m1", "m2")
	w.Expect(*sent).To(Equal(integration.Requests{Writes: 3, StatusWrites: 1}))
	*sent, *read = integration.Requests{}, integration.Requests{}
	const again = 5
	for range again {
		w.Expect(run()).To(Equal(reconcile.Again()), "the pauses grow")
	}
	w.Expect(*sent).To(Equal(integration.Requests{StatusWrites: again}), "the condition is sent with the resourceVersion of the cache, and conflicts")
	w.Expect(read.Reads).To(BeNumerically("<=", 4*again), "each time the Cluster, its infrastructure, its control plane and its Machines")
}
