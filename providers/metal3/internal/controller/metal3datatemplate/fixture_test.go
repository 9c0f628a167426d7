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
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
)

// timeout is a timeout for busy machines; only a failing test waits that long.
const timeout = 2 * time.Minute

// fixture is a test with its own namespace and a manager for it.
type fixture struct {
	*WithT
	t      *testing.T
	client client.Client
	name   string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(timeout)
	g.SetDefaultConsistentlyDuration(300 * time.Millisecond)
	c, err := client.New(apiServer, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	g.Expect(c.Create(t.Context(), ns)).To(Succeed())
	f := &fixture{WithT: g, t: t, client: c, name: ns.Name}
	f.create(&clusterv1.Cluster{ObjectMeta: f.meta("c"), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "Metal3Cluster", Name: "c"},
	}})
	return f
}

// start runs a manager until the test ends or stop is called. Its client can be intercepted.
func (f *fixture) start(disturb ...interceptor.Funcs) (stop func()) {
	f.t.Helper()
	mgr, err := ctrl.NewManager(apiServer, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: manager.CacheOptions(f.name, f.name),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		NewClient:  integration.NewInterceptedClient(disturb...),
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect((&metal3datatemplate.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).
		SetupWithManager(f.t.Context(), mgr, "", controller.Options{MaxConcurrentReconciles: 5})).To(Succeed())
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
			f.t.Logf("manager: %v", err)
		}
	}
	f.t.Cleanup(stop)
	return stop
}

func (f *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
}

func (f *fixture) create(objects ...client.Object) {
	f.t.Helper()
	for _, o := range objects {
		f.Expect(f.client.Create(f.t.Context(), o)).To(Succeed(), "creating %T %s", o, o.GetName())
	}
}

func (f *fixture) template(name string) *infrav1.Metal3DataTemplate {
	f.t.Helper()
	template := &infrav1.Metal3DataTemplate{ObjectMeta: f.meta(name), Spec: infrav1.Metal3DataTemplateSpec{
		MetaData:    &infrav1.MetaData{Indexes: []infrav1.MetaDataIndex{{Key: "index"}}},
		NetworkData: &infrav1.NetworkData{},
	}}
	f.create(template)
	return template
}

// claim creates a claim as the machine controller does, with its machine.
func (f *fixture) claim(template, name string) *infrav1.Metal3DataClaim {
	f.t.Helper()
	machine := &infrav1.Metal3Machine{ObjectMeta: f.meta(name)}
	machine.Spec.Image.URL, machine.Spec.Image.Checksum = "http://image", "abc"
	f.create(machine)
	claim := &infrav1.Metal3DataClaim{ObjectMeta: f.meta(name), Spec: infrav1.Metal3DataClaimSpec{
		Template: corev1.ObjectReference{Namespace: f.name, Name: template},
	}}
	claim.Finalizers = []string{infrav1.MachineFinalizer}
	claim.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: name, UID: machine.UID, Controller: ptr.To(true),
	}}
	f.create(claim)
	return claim
}

// waitForData waits until the claim names its data, and returns the data.
func (f *fixture) waitForData(claim *infrav1.Metal3DataClaim) *infrav1.Metal3Data {
	f.t.Helper()
	data := &infrav1.Metal3Data{}
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.RenderedData).NotTo(BeNil(), "%s", ptr.Deref(claim.Status.ErrorMessage, ""))
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKey{Namespace: f.name, Name: claim.Status.RenderedData.Name}, data)).To(Succeed())
		g.Expect(data.Spec.Claim.Name).To(Equal(claim.Name))
	}).Should(Succeed())
	return data
}

// waitForError waits until the claim has an error message, and returns it.
func (f *fixture) waitForError(claim *infrav1.Metal3DataClaim) string {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.ErrorMessage).NotTo(BeNil())
	}).Should(Succeed())
	return *claim.Status.ErrorMessage
}

// update applies change to the latest object, retrying on conflict.
func update[T client.Object](f *fixture, o T, change func(T)) {
	f.t.Helper()
	integration.Update(integration.User{T: f.t, G: f.WithT, Client: f.client}, o, integration.Whole, change)
}

// removeFinalizers removes the finalizers of data that is being deleted, as the data controller does in the end.
func (f *fixture) removeFinalizers(data *infrav1.Metal3Data) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.DeletionTimestamp).NotTo(BeNil())
	}).Should(Succeed())
	update(f, data, func(data *infrav1.Metal3Data) { data.Finalizers = nil })
}

func (f *fixture) waitForDeletion(o client.Object) {
	f.t.Helper()
	f.Eventually(func() error {
		return f.client.Get(f.t.Context(), client.ObjectKeyFromObject(o), o)
	}).Should(MatchError(ContainSubstring("not found")))
}

func (f *fixture) delete(o client.Object) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), o)).To(Succeed())
}

// releaseClaim removes the machine's finalizer from its claim, as the machine controller does when the host is off.
func (f *fixture) releaseClaim(claim *infrav1.Metal3DataClaim) {
	f.t.Helper()
	update(f, claim, func(claim *infrav1.Metal3DataClaim) {
		controllerutil.RemoveFinalizer(claim, infrav1.MachineFinalizer)
	})
}
