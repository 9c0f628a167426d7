// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/testenv"
)

// The API server is real and shared by all tests; every test has its own namespace and simulator.
var apiServer *rest.Config

func TestMain(m *testing.M) {
	crds, err := simulator.CRDs()
	utilruntime.Must(err)
	testenv.Main(m, testenv.Options{CRDs: crds}, func(env *envtest.Environment) error {
		apiServer = env.Config
		apiServer.QPS = -1
		return nil
	})
}

// fixture is a test with its own namespace of the API server.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.WithWatch
	namespace string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	scheme := runtime.NewScheme()
	g.Expect(simulator.AddToScheme(scheme)).To(Succeed())
	c, err := client.NewWithWatch(apiServer, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return &fixture{WithT: g, t: t, client: c, namespace: integration.NewNamespace(t, c)}
}

// simulate runs a simulator for the namespace.
func (f *fixture) simulate(opts ...simulator.Option) *simulator.Simulator {
	f.t.Helper()
	return simulator.Start(f.t, apiServer, append(opts, simulator.WithNamespace(f.namespace))...)
}

func (f *fixture) create(layout simulator.Layout) {
	f.t.Helper()
	f.Expect(simulator.Create(f.t.Context(), f.client, f.namespace, layout)).To(Succeed())
}

func (f *fixture) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: f.namespace, Name: name}
}

func (f *fixture) host(name string) *bmov1alpha1.BareMetalHost {
	f.t.Helper()
	host := &bmov1alpha1.BareMetalHost{}
	f.Expect(f.client.Get(f.t.Context(), f.key(name), host)).To(Succeed())
	return host
}

// change patches a host as another client would.
func (f *fixture) change(name string, change func(*bmov1alpha1.BareMetalHost)) {
	f.t.Helper()
	host := f.host(name)
	before := host.DeepCopy()
	change(host)
	f.Expect(f.client.Patch(f.t.Context(), host, client.MergeFrom(before))).To(Succeed())
}

// waitForState waits for a host to be in a state, on or off according to its spec, without an error.
func (f *fixture) waitForState(name string, state bmov1alpha1.ProvisioningState) {
	f.t.Helper()
	f.eventually(name, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.Provisioning.State == state && host.Status.ErrorMessage == "" && host.Status.PoweredOn == host.Spec.Online
	}, string(state))
}

// waitForPrepared waits for a host to be prepared for another image.
func (f *fixture) waitForPrepared(name string) {
	f.t.Helper()
	f.eventually(name, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.Provisioning.State == bmov1alpha1.StateAvailable && host.Status.Provisioning.RootDeviceHints != nil
	}, "prepared again")
}

func (f *fixture) eventually(name string, fits func(*bmov1alpha1.BareMetalHost) bool, what string) {
	f.t.Helper()
	f.Eventually(func() bool { return fits(f.host(name)) }).Should(BeTrue(), "%s: %s", name, what)
}

func (f *fixture) countInState(state bmov1alpha1.ProvisioningState) func() int {
	return func() int {
		placements, err := simulator.Placements(f.t.Context(), f.client, f.namespace)
		f.Expect(err).NotTo(HaveOccurred())
		return len(slices.DeleteFunc(placements, func(p simulator.Placement) bool { return p.State != state }))
	}
}

// events returns the reasons of the namespace's events.
func (f *fixture) events() []string {
	list := &corev1.EventList{}
	f.Expect(f.client.List(f.t.Context(), list, client.InNamespace(f.namespace))).To(Succeed())
	var reasons []string
	for _, event := range list.Items {
		reasons = append(reasons, event.Reason)
	}
	return reasons
}

// history records the order of a host's states from a watch.
type history struct {
	mu     sync.Mutex
	states []bmov1alpha1.ProvisioningState
}

func (f *fixture) watch(name string) *history {
	f.t.Helper()
	h := &history{}
	w, err := f.client.Watch(f.t.Context(), &bmov1alpha1.BareMetalHostList{}, client.InNamespace(f.namespace),
		client.MatchingFields{"metadata.name": name})
	f.Expect(err).NotTo(HaveOccurred())
	f.t.Cleanup(w.Stop)
	go func() {
		for event := range w.ResultChan() {
			if host, ok := event.Object.(*bmov1alpha1.BareMetalHost); ok {
				h.record(host.Status.Provisioning.State)
			}
		}
	}()
	return h
}

func (h *history) record(state bmov1alpha1.ProvisioningState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if state != "" && (len(h.states) == 0 || h.states[len(h.states)-1] != state) {
		h.states = append(h.states, state)
	}
}

func (h *history) seen() []bmov1alpha1.ProvisioningState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.states)
}

func (f *fixture) waitForDeletion(obj client.Object, name string) {
	f.t.Helper()
	f.Eventually(func() bool {
		return apierrors.IsNotFound(f.client.Get(context.WithoutCancel(f.t.Context()), f.key(name), obj))
	}).Should(BeTrue(), "%s is not deleted", name)
}
