// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/testenv"
)

// patience is a timeout for busy machines.
const patience = 2 * time.Minute

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

// site is a test with its own namespace of the API server.
type site struct {
	*WithT
	t         *testing.T
	client    client.WithWatch
	namespace string
}

func newSite(t *testing.T) *site {
	t.Helper()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	g.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	scheme := runtime.NewScheme()
	g.Expect(simulator.AddToScheme(scheme)).To(Succeed())
	c, err := client.NewWithWatch(apiServer, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "site-"}}
	g.Expect(c.Create(t.Context(), namespace)).To(Succeed())
	return &site{WithT: g, t: t, client: c, namespace: namespace.Name}
}

// simulate runs a simulator for the namespace.
func (s *site) simulate(opts ...simulator.Option) *simulator.Simulator {
	s.t.Helper()
	return simulator.Start(s.t, apiServer, append(opts, simulator.WithNamespace(s.namespace))...)
}

func (s *site) create(layout simulator.Layout) {
	s.t.Helper()
	s.Expect(simulator.Create(s.t.Context(), s.client, s.namespace, layout)).To(Succeed())
}

func (s *site) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: name}
}

func (s *site) host(name string) *bmov1alpha1.BareMetalHost {
	s.t.Helper()
	host := &bmov1alpha1.BareMetalHost{}
	s.Expect(s.client.Get(s.t.Context(), s.key(name), host)).To(Succeed())
	return host
}

// change patches a host as another client would.
func (s *site) change(name string, change func(*bmov1alpha1.BareMetalHost)) {
	s.t.Helper()
	host := s.host(name)
	before := host.DeepCopy()
	change(host)
	s.Expect(s.client.Patch(s.t.Context(), host, client.MergeFrom(before))).To(Succeed())
}

// reaches waits for a host to be in a state, on or off according to its spec, without an error.
func (s *site) reaches(name string, state bmov1alpha1.ProvisioningState) {
	s.t.Helper()
	s.eventually(name, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.Provisioning.State == state && host.Status.ErrorMessage == "" && host.Status.PoweredOn == host.Spec.Online
	}, string(state))
}

// prepared waits for a host to be prepared for another image.
func (s *site) prepared(name string) {
	s.t.Helper()
	s.eventually(name, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.Provisioning.State == bmov1alpha1.StateAvailable && host.Status.Provisioning.RootDeviceHints != nil
	}, "prepared again")
}

func (s *site) eventually(name string, fits func(*bmov1alpha1.BareMetalHost) bool, what string) {
	s.t.Helper()
	s.Eventually(func() bool { return fits(s.host(name)) }).Should(BeTrue(), "%s: %s", name, what)
}

func (s *site) all(state bmov1alpha1.ProvisioningState) func() int {
	return func() int {
		placements, err := simulator.Placements(s.t.Context(), s.client, s.namespace)
		s.Expect(err).NotTo(HaveOccurred())
		return len(slices.DeleteFunc(placements, func(p simulator.Placement) bool { return p.State != state }))
	}
}

// events returns the reasons of the namespace's events.
func (s *site) events() []string {
	list := &corev1.EventList{}
	s.Expect(s.client.List(s.t.Context(), list, client.InNamespace(s.namespace))).To(Succeed())
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

func (s *site) watch(name string) *history {
	s.t.Helper()
	h := &history{}
	w, err := s.client.Watch(s.t.Context(), &bmov1alpha1.BareMetalHostList{}, client.InNamespace(s.namespace),
		client.MatchingFields{"metadata.name": name})
	s.Expect(err).NotTo(HaveOccurred())
	s.t.Cleanup(w.Stop)
	go func() {
		for event := range w.ResultChan() {
			if host, ok := event.Object.(*bmov1alpha1.BareMetalHost); ok {
				h.note(host.Status.Provisioning.State)
			}
		}
	}()
	return h
}

func (h *history) note(state bmov1alpha1.ProvisioningState) {
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

func (s *site) gone(obj client.Object, name string) {
	s.t.Helper()
	s.Eventually(func() bool {
		return apierrors.IsNotFound(s.client.Get(context.WithoutCancel(s.t.Context()), s.key(name), obj))
	}).Should(BeTrue(), "%s is gone", name)
}
