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

// start runs a manager until the end of the test.
func (w *world) start(changes ...func(*ctrl.Options, *metal3data.Reconciler)) ctrl.Manager {
	w.t.Helper()
	options := ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: manager.CacheOptions(w.name, w.name),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}
	reconciler := &metal3data.Reconciler{}
	for _, change := range changes {
		change(&options, reconciler)
	}
	mgr, err := ctrl.NewManager(apiServer, options)
	w.Expect(err).NotTo(HaveOccurred())
	reconciler.Client, reconciler.Cache, reconciler.Recorder = mgr.GetClient(), mgr.GetCache(), manager.Recorder(mgr, "metal3data")
	w.Expect(reconciler.SetupWithManager(w.t.Context(), mgr, "", controller.Options{MaxConcurrentReconciles: 5})).To(Succeed())
	w.run(mgr)
	return mgr
}

func (w *world) run(mgr ctrl.Manager) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Logf("manager: %v", err)
		}
	})
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	w.user().Create(objects...)
}

func (w *world) get(o client.Object) {
	w.t.Helper()
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
}

func (w *world) remove(o client.Object) {
	w.t.Helper()
	w.Expect(w.client.Delete(w.t.Context(), o)).To(Succeed())
}

func (w *world) gone(o client.Object) {
	w.t.Helper()
	w.Eventually(func() error {
		return w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	}).Should(MatchError(ContainSubstring("not found")))
}

func (w *world) user() testworld.User { return testworld.User{T: w.t, G: w.WithT, Client: w.client} }

// update applies change to the latest object, retrying on conflict.
func update[T client.Object](w *world, o T, change func(T)) {
	w.t.Helper()
	testworld.Update(w.user(), o, testworld.Whole, change)
}

// updateStatus is update for the status.
func updateStatus[T client.Object](w *world, o T, change func(T)) {
	w.t.Helper()
	testworld.Update(w.user(), o, testworld.Status, change)
}

// template creates a template named t.
func (w *world) template(spec string) *infrav1.Metal3DataTemplate {
	w.t.Helper()
	template := &infrav1.Metal3DataTemplate{ObjectMeta: w.meta("t")}
	w.Expect(yaml.UnmarshalStrict([]byte(spec), &template.Spec)).To(Succeed())
	w.create(template)
	return template
}

// host creates an inspected host with the interface eno1.
func (w *world) host(name string, changes ...func(*bmov1alpha1.BareMetalHost)) *bmov1alpha1.BareMetalHost {
	w.t.Helper()
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: w.meta(name), Spec: bmov1alpha1.BareMetalHostSpec{BootMACAddress: "00:00:00:00:00:b0"}}
	for _, change := range changes {
		change(host)
	}
	w.create(host)
	updateStatus(w, host, func(host *bmov1alpha1.BareMetalHost) {
		host.Status.OperationalStatus = bmov1alpha1.OperationalStatusOK
		host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{NIC: []bmov1alpha1.NIC{{Name: "eno1", MAC: "00:00:00:00:00:01"}}}
	})
	return host
}

// machine creates a Machine, Metal3Machine and Metal3DataClaim of the same name. If host is "", it waits for one.
func (w *world) machine(name, host string) *infrav1.Metal3Machine {
	w.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To(name)},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "Metal3Machine", Name: name},
	}}
	w.create(machine)
	metal3 := &infrav1.Metal3Machine{ObjectMeta: w.meta(name)}
	metal3.Spec.Image.URL, metal3.Spec.Image.Checksum = "http://image", "abc"
	metal3.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID}}
	w.create(metal3)
	if host != "" {
		w.associate(metal3, host)
	}
	claim := &infrav1.Metal3DataClaim{ObjectMeta: w.meta(name), Spec: infrav1.Metal3DataClaimSpec{Template: corev1.ObjectReference{Name: "t"}}}
	claim.Finalizers = []string{infrav1.DataClaimFinalizer}
	claim.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: name, UID: metal3.UID, Controller: ptr.To(true),
	}}
	w.create(claim)
	return metal3
}

// associate assigns a host to the machine, as the machine controller does.
func (w *world) associate(machine *infrav1.Metal3Machine, name string) {
	w.t.Helper()
	update(w, &bmov1alpha1.BareMetalHost{ObjectMeta: w.meta(name)}, func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: w.name, Name: machine.Name,
		}
	})
	update(w, machine, func(machine *infrav1.Metal3Machine) {
		machine.Annotations = map[string]string{infrav1.HostAnnotation: w.name + "/" + name}
	})
}

// data creates the data of a machine.
func (w *world) data(name, machine string) *infrav1.Metal3Data {
	w.t.Helper()
	data := &infrav1.Metal3Data{ObjectMeta: w.meta(name), Spec: infrav1.Metal3DataSpec{
		Index: 4, Template: corev1.ObjectReference{Name: "t"}, Claim: corev1.ObjectReference{Name: machine},
	}}
	w.create(data)
	return data
}

// ready waits until the data is rendered.
func (w *world) ready(data *infrav1.Metal3Data) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.Status.Ready).To(BeTrue(), "%s", ptr.Deref(data.Status.ErrorMessage, ""))
	}).Should(Succeed())
	w.Expect(data.Status.ErrorMessage).To(BeNil())
}

// problem waits until the data reports the error message.
func (w *world) problem(data *infrav1.Metal3Data, message string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(ptr.Deref(data.Status.ErrorMessage, "")).To(Equal(message))
	}).Should(Succeed())
}

// idle checks that the data is not rendered and reports no error.
func (w *world) idle(data *infrav1.Metal3Data) {
	w.t.Helper()
	w.Consistently(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.Status).To(Equal(infrav1.Metal3DataStatus{}))
	}).Should(Succeed())
}

// content returns the value of one key of a Secret.
func (w *world) content(name, key string) string {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: w.meta(name)}
	w.get(secret)
	w.Expect(secret.Data).To(HaveLen(1))
	return string(secret.Data[key])
}
