// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data_test

import (
	"context"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3data"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
)

// fixture is a test with its own namespace and a manager for it.
type fixture struct {
	*WithT
	t      *testing.T
	client client.Client
	name   string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	g.SetDefaultConsistentlyDuration(300 * time.Millisecond)
	c, err := client.New(apiServer, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	f := &fixture{WithT: g, t: t, client: c, name: integration.NewNamespace(t, c)}
	f.create(&clusterv1.Cluster{ObjectMeta: f.meta("c"), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "Metal3Cluster", Name: "c"},
	}})
	return f
}

// start runs a manager until the end of the test.
func (f *fixture) start(changes ...func(*ctrl.Options, *metal3data.Reconciler)) ctrl.Manager {
	f.t.Helper()
	options := ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: manager.CacheOptions(f.name, f.name),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}
	reconciler := &metal3data.Reconciler{}
	for _, change := range changes {
		change(&options, reconciler)
	}
	mgr, err := ctrl.NewManager(apiServer, options)
	f.Expect(err).NotTo(HaveOccurred())
	reconciler.Client, reconciler.Cache, reconciler.Recorder = mgr.GetClient(), mgr.GetCache(), manager.Recorder(mgr, "metal3data")
	f.Expect(reconciler.SetupWithManager(f.t.Context(), mgr, "", controller.Options{MaxConcurrentReconciles: 5})).To(Succeed())
	f.run(mgr)
	return mgr
}

func (f *fixture) run(mgr ctrl.Manager) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Logf("manager: %v", err)
		}
	})
}

func (f *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
}

func (f *fixture) create(objects ...client.Object) {
	f.t.Helper()
	f.user().Create(objects...)
}

func (f *fixture) get(o client.Object) {
	f.t.Helper()
	f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
}

func (f *fixture) delete(o client.Object) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), o)).To(Succeed())
}

func (f *fixture) waitForDeletion(o client.Object) {
	f.t.Helper()
	f.Eventually(func() error {
		return f.client.Get(f.t.Context(), client.ObjectKeyFromObject(o), o)
	}).Should(MatchError(ContainSubstring("not found")))
}

func (f *fixture) user() integration.User {
	return integration.User{T: f.t, G: f.WithT, Client: f.client}
}

// update applies change to the latest object, retrying on conflict.
func update[T client.Object](f *fixture, o T, change func(T)) {
	f.t.Helper()
	integration.Update(f.user(), o, integration.Whole, change)
}

// updateStatus is update for the status.
func updateStatus[T client.Object](f *fixture, o T, change func(T)) {
	f.t.Helper()
	integration.Update(f.user(), o, integration.Status, change)
}

// template creates a template named t.
func (f *fixture) template(spec string) *infrav1.Metal3DataTemplate {
	f.t.Helper()
	template := &infrav1.Metal3DataTemplate{ObjectMeta: f.meta("t")}
	f.Expect(yaml.UnmarshalStrict([]byte(spec), &template.Spec)).To(Succeed())
	f.create(template)
	return template
}

// host creates an inspected host with the interface eno1.
func (f *fixture) host(name string, changes ...func(*bmov1alpha1.BareMetalHost)) *bmov1alpha1.BareMetalHost {
	f.t.Helper()
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: f.meta(name), Spec: bmov1alpha1.BareMetalHostSpec{BootMACAddress: "00:00:00:00:00:b0"}}
	for _, change := range changes {
		change(host)
	}
	f.create(host)
	updateStatus(f, host, func(host *bmov1alpha1.BareMetalHost) {
		host.Status.OperationalStatus = bmov1alpha1.OperationalStatusOK
		host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{NIC: []bmov1alpha1.NIC{{Name: "eno1", MAC: "00:00:00:00:00:01"}}}
	})
	return host
}

// machine creates a Machine, Metal3Machine and Metal3DataClaim of the same name. If host is "", it waits for one.
func (f *fixture) machine(name, host string) *infrav1.Metal3Machine {
	f.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: f.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To(name)},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "Metal3Machine", Name: name},
	}}
	f.create(machine)
	metal3 := &infrav1.Metal3Machine{ObjectMeta: f.meta(name)}
	metal3.Spec.Image.URL, metal3.Spec.Image.Checksum = "http://image", "abc"
	metal3.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID}}
	f.create(metal3)
	if host != "" {
		f.associate(metal3, host)
	}
	claim := &infrav1.Metal3DataClaim{ObjectMeta: f.meta(name), Spec: infrav1.Metal3DataClaimSpec{Template: corev1.ObjectReference{Name: "t"}}}
	claim.Finalizers = []string{infrav1.DataClaimFinalizer}
	claim.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: name, UID: metal3.UID, Controller: ptr.To(true),
	}}
	f.create(claim)
	return metal3
}

// associate assigns a host to the machine, as the machine controller does.
func (f *fixture) associate(machine *infrav1.Metal3Machine, name string) {
	f.t.Helper()
	update(f, &bmov1alpha1.BareMetalHost{ObjectMeta: f.meta(name)}, func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: f.name, Name: machine.Name,
		}
	})
	update(f, machine, func(machine *infrav1.Metal3Machine) {
		machine.Annotations = map[string]string{infrav1.HostAnnotation: f.name + "/" + name}
	})
}

// data creates the data of a machine.
func (f *fixture) data(name, machine string) *infrav1.Metal3Data {
	f.t.Helper()
	data := &infrav1.Metal3Data{ObjectMeta: f.meta(name), Spec: infrav1.Metal3DataSpec{
		Index: 4, Template: corev1.ObjectReference{Name: "t"}, Claim: corev1.ObjectReference{Name: machine},
	}}
	f.create(data)
	return data
}

// waitForReady waits until the data is rendered.
func (f *fixture) waitForReady(data *infrav1.Metal3Data) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.Status.Ready).To(BeTrue(), "%s", ptr.Deref(data.Status.ErrorMessage, ""))
	}).Should(Succeed())
	f.Expect(data.Status.ErrorMessage).To(BeNil())
}

// waitForProblem waits until the data reports the error message.
func (f *fixture) waitForProblem(data *infrav1.Metal3Data, message string) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(ptr.Deref(data.Status.ErrorMessage, "")).To(Equal(message))
	}).Should(Succeed())
}

// waitForIdle checks that the data is not rendered and reports no error.
func (f *fixture) waitForIdle(data *infrav1.Metal3Data) {
	f.t.Helper()
	f.Consistently(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.Status).To(Equal(infrav1.Metal3DataStatus{}))
	}).Should(Succeed())
}

// content returns the value of one key of a Secret.
func (f *fixture) content(name, key string) string {
	f.t.Helper()
	secret := &corev1.Secret{ObjectMeta: f.meta(name)}
	f.get(secret)
	f.Expect(secret.Data).To(HaveLen(1))
	return string(secret.Data[key])
}
