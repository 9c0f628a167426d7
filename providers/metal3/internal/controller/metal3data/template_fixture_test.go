// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3data"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
)

// templateFixture is a fixture whose manager has the controller of Metal3DataTemplates.
type templateFixture struct{ *fixture }

func newTemplateFixture(t *testing.T) *templateFixture {
	t.Helper()
	return &templateFixture{newFixture(t)}
}

// start runs a manager until the test ends or stop is called. Its client can be intercepted.
func (f *templateFixture) start(disturb ...interceptor.Funcs) (stop func()) {
	f.t.Helper()
	mgr, err := ctrl.NewManager(apiServer, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: manager.CacheOptions(f.name, f.name),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		NewClient:  integration.NewInterceptedClient(disturb...),
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect((&metal3data.TemplateReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).
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

func (f *templateFixture) template(name string) *infrav1.Metal3DataTemplate {
	f.t.Helper()
	template := &infrav1.Metal3DataTemplate{ObjectMeta: f.meta(name), Spec: infrav1.Metal3DataTemplateSpec{
		MetaData:    &infrav1.MetaData{Indexes: []infrav1.MetaDataIndex{{Key: "index"}}},
		NetworkData: &infrav1.NetworkData{},
	}}
	f.create(template)
	return template
}

// claim creates a claim as the machine controller does, with its machine.
func (f *templateFixture) claim(template, name string) *infrav1.Metal3DataClaim {
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
func (f *templateFixture) waitForData(claim *infrav1.Metal3DataClaim) *infrav1.Metal3Data {
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
func (f *templateFixture) waitForError(claim *infrav1.Metal3DataClaim) string {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.ErrorMessage).NotTo(BeNil())
	}).Should(Succeed())
	return *claim.Status.ErrorMessage
}

// removeFinalizers removes the finalizers of data that is being deleted, as the data controller does in the end.
func (f *templateFixture) removeFinalizers(data *infrav1.Metal3Data) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.DeletionTimestamp).NotTo(BeNil())
	}).Should(Succeed())
	update(f.fixture, data, func(data *infrav1.Metal3Data) { data.Finalizers = nil })
}

// releaseClaim removes the machine's finalizer from its claim, as the machine controller does when the host is off.
func (f *templateFixture) releaseClaim(claim *infrav1.Metal3DataClaim) {
	f.t.Helper()
	update(f.fixture, claim, func(claim *infrav1.Metal3DataClaim) {
		controllerutil.RemoveFinalizer(claim, infrav1.MachineFinalizer)
	})
}
