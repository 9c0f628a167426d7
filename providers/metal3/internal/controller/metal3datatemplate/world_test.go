// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3datatemplate_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3datatemplate"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testworld"
)

// patience is a timeout for busy machines; only a failing test waits that long.
const patience = 2 * time.Minute

// world is a test with its own namespace and a manager for it.
type world struct {
	*WithT
	t      *testing.T
	client client.Client
	name   string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	g.SetDefaultConsistentlyDuration(300 * time.Millisecond)
	c, err := client.New(apiServer, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	g.Expect(c.Create(t.Context(), ns)).To(Succeed())
	w := &world{WithT: g, t: t, client: c, name: ns.Name}
	w.create(&clusterv1.Cluster{ObjectMeta: w.meta("c"), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "Metal3Cluster", Name: "c"},
	}})
	return w
}

// start runs a manager until the test ends or stop is called. Its client can be intercepted.
func (w *world) start(disturb ...interceptor.Funcs) (stop func()) {
	w.t.Helper()
	mgr, err := ctrl.NewManager(apiServer, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: manager.CacheOptions(w.name, w.name),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		NewClient:  testworld.Disturbed(disturb...),
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect((&metal3datatemplate.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).
		SetupWithManager(w.t.Context(), mgr, "", controller.Options{MaxConcurrentReconciles: 5})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Logf("manager: %v", err)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		w.Expect(w.client.Create(w.t.Context(), o)).To(Succeed(), "creating %T %s", o, o.GetName())
	}
}

func (w *world) template(name string) *infrav1.Metal3DataTemplate {
	w.t.Helper()
	template := &infrav1.Metal3DataTemplate{ObjectMeta: w.meta(name), Spec: infrav1.Metal3DataTemplateSpec{
		MetaData:    &infrav1.MetaData{Indexes: []infrav1.MetaDataIndex{{Key: "index"}}},
		NetworkData: &infrav1.NetworkData{},
	}}
	w.create(template)
	return template
}

// claim creates a claim as the machine controller does, with its machine.
func (w *world) claim(template, name string) *infrav1.Metal3DataClaim {
	w.t.Helper()
	machine := &infrav1.Metal3Machine{ObjectMeta: w.meta(name)}
	machine.Spec.Image.URL, machine.Spec.Image.Checksum = "http://image", "abc"
	w.create(machine)
	claim := &infrav1.Metal3DataClaim{ObjectMeta: w.meta(name), Spec: infrav1.Metal3DataClaimSpec{
		Template: corev1.ObjectReference{Namespace: w.name, Name: template},
	}}
	claim.Finalizers = []string{infrav1.MachineFinalizer}
	claim.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: name, UID: machine.UID, Controller: ptr.To(true),
	}}
	w.create(claim)
	return claim
}

// given waits until the claim names its data, and returns the data.
func (w *world) given(claim *infrav1.Metal3DataClaim) *infrav1.Metal3Data {
	w.t.Helper()
	data := &infrav1.Metal3Data{}
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.RenderedData).NotTo(BeNil(), "%s", ptr.Deref(claim.Status.ErrorMessage, ""))
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.name, Name: claim.Status.RenderedData.Name}, data)).To(Succeed())
		g.Expect(data.Spec.Claim.Name).To(Equal(claim.Name))
	}).Should(Succeed())
	return data
}

// refused waits until the claim has an error message, and returns it.
func (w *world) refused(claim *infrav1.Metal3DataClaim) string {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.ErrorMessage).NotTo(BeNil())
	}).Should(Succeed())
	return *claim.Status.ErrorMessage
}

// update applies change to the latest object, retrying on conflict.
func update[T client.Object](w *world, o T, change func(T)) {
	w.t.Helper()
	testworld.Update(testworld.User{T: w.t, G: w.WithT, Client: w.client}, o, testworld.Whole, change)
}

// finish removes the finalizers of data that is being deleted, as the data controller does in the end.
func (w *world) finish(data *infrav1.Metal3Data) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.DeletionTimestamp).NotTo(BeNil())
	}).Should(Succeed())
	update(w, data, func(data *infrav1.Metal3Data) { data.Finalizers = nil })
}

func (w *world) gone(o client.Object) {
	w.t.Helper()
	w.Eventually(func() error {
		return w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	}).Should(MatchError(ContainSubstring("not found")))
}

func (w *world) remove(o client.Object) {
	w.t.Helper()
	w.Expect(w.client.Delete(w.t.Context(), o)).To(Succeed())
}

// letGo removes the machine's finalizer from its claim, as the machine controller does when the host is off.
func (w *world) letGo(claim *infrav1.Metal3DataClaim) {
	w.t.Helper()
	update(w, claim, func(claim *infrav1.Metal3DataClaim) {
		controllerutil.RemoveFinalizer(claim, infrav1.MachineFinalizer)
	})
}
