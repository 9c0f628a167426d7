// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/setup"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
	"github.com/faultline-io/faultline/shared/testworld"
)

// tenancy is a management cluster whose API server calls no webhooks, so that only the manager isolates tenants.
type tenancy struct {
	*WithT
	t      *testing.T
	admin  client.Client
	victim testenv.Tenant
	tenant testenv.Tenant
}

// TestRightsInOneNamespaceReachNothingOfOthers makes a tenant try to misuse the permissions of the manager, which runs as
// installed except for its webhooks, and those of the bare-metal operator.
func TestRightsInOneNamespaceReachNothingOfOthers(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	crds, err := simulator.CRDs()
	g.Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	for _, add := range provider(&manager.Options{}, setup.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: "config", ClusterAPI: true, CRDs: crds, Conversion: true})
	admin, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	components.InstallRights(t, admin)
	victim := testenv.NewTenant(t, env, admin)
	layout := simulator.Layout{Domains: []simulator.Domain{{Name: "rack-1", Hosts: 1}}, Ready: true}
	g.Expect(simulator.Create(t.Context(), admin, victim.Namespace, layout)).To(Succeed())
	testenv.RunManager(t, env, components, testenv.FloodFlag())
	first := layout.Domains[0].Hosts + 1
	for name, attempt := range map[string]func(*tenancy){
		"Secrets of another on a host of its own":        (*tenancy).readsSecrets,
		"a host of another":                              (*tenancy).takesTheHost,
		"a template of another, and its pools and hosts": (*tenancy).rendersTheTemplate,
		"the token of the manager":                       (*tenancy).drawsTheToken,
		"answers that do not end":                        (*tenancy).floods,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.SetDefaultEventuallyTimeout(patience)
			w := &tenancy{WithT: g, t: t, admin: admin, victim: victim, tenant: testenv.NewTenant(t, env, admin)}
			if name != "a host of another" {
				layout.First = first
				first++
				g.Expect(simulator.Create(t.Context(), w.tenant.Client, w.tenant.Namespace, layout)).To(Succeed())
			}
			attempt(w)
		})
	}
}

// machine creates a cluster and a machine.
func (w *tenancy) machine(change func(*infrav1.Metal3Machine)) *infrav1.Metal3Machine {
	w.t.Helper()
	u := testworld.NewUser(w.t, w.tenant.Client, patience)
	u.Cluster(&infrav1.Metal3Cluster{
		ObjectMeta: w.tenant.Meta("c"), Spec: infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443}},
	})
	machine := &infrav1.Metal3Machine{ObjectMeta: w.tenant.Meta("m"), Spec: infrav1.Metal3MachineSpec{
		Image: infrav1.Image{URL: "https://images.example.com/node.qcow2", Checksum: "0123456789abcdef"},
	}}
	change(machine)
	u.Machine("c", "", machine)
	return machine
}

func (w *tenancy) readsSecrets() {
	theirs := &corev1.SecretReference{Namespace: w.victim.Namespace, Name: "password"}
	w.machine(func(m *infrav1.Metal3Machine) {
		m.Spec.UserData, m.Spec.MetaData, m.Spec.NetworkData = theirs, theirs, theirs
	})
	hosts := &bmov1alpha1.BareMetalHostList{}
	w.Eventually(func(g Gomega) {
		g.Expect(w.tenant.Client.List(w.t.Context(), hosts, client.InNamespace(w.tenant.Namespace))).To(Succeed())
		g.Expect(hosts.Items).To(HaveLen(1))
		g.Expect(hosts.Items[0].Spec.Image).NotTo(BeNil())
	}).Should(Succeed())
	for _, ref := range []*corev1.SecretReference{hosts.Items[0].Spec.UserData, hosts.Items[0].Spec.MetaData, hosts.Items[0].Spec.NetworkData} {
		w.Expect(ref).To(HaveField("Namespace", w.tenant.Namespace))
	}
}

func (w *tenancy) takesTheHost() {
	hosts := &bmov1alpha1.BareMetalHostList{}
	w.Expect(w.admin.List(w.t.Context(), hosts, client.InNamespace(w.victim.Namespace))).To(Succeed())
	w.Expect(hosts.Items).To(HaveLen(1))
	machine := w.machine(func(m *infrav1.Metal3Machine) {
		m.Annotations = map[string]string{infrav1.HostAnnotation: w.victim.Namespace + "/" + hosts.Items[0].Name}
	})
	w.Eventually(func(g Gomega) {
		g.Expect(w.tenant.Client.Get(w.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(conditions.GetReason(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition)).To(Equal(infrav1.NoCapacityReason), "%v", machine.Status.Conditions)
	}).Should(Succeed())
	w.Expect(w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(&hosts.Items[0]), &hosts.Items[0])).To(Succeed())
	w.Expect(hosts.Items[0].Spec.ConsumerRef).To(BeNil())
}

func (w *tenancy) rendersTheTemplate() {
	template := &infrav1.Metal3DataTemplate{ObjectMeta: w.victim.Meta("nodes-" + w.tenant.Namespace)}
	template.Spec.MetaData = &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "password", Value: "secret"}}}
	w.Expect(w.victim.Client.Create(w.t.Context(), template)).To(Succeed())
	w.machine(func(m *infrav1.Metal3Machine) {
		m.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Namespace: template.Namespace, Name: template.Name}
	})
	claim := &infrav1.Metal3DataClaim{}
	w.Eventually(func() error {
		return w.tenant.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.tenant.Namespace, Name: "m"}, claim)
	}).Should(Succeed())
	w.Expect(claim.Spec.Template.Namespace).To(Equal(w.tenant.Namespace))
}

// drawsTheToken makes the manager read a kubeconfig that refers to a file of the manager.
func (w *tenancy) drawsTheToken() {
	thief, u := testenv.NewThief(w.t), testworld.NewUser(w.t, w.tenant.Client, patience)
	for _, name := range []string{"first", "second"} {
		kubeconfig := thief.File()
		if name == "second" {
			kubeconfig = thief.Own()
		}
		u.Kubeconfig(w.tenant.Namespace, name, kubeconfig)
		u.Cluster(&infrav1.Metal3Cluster{ObjectMeta: w.tenant.Meta(name), Spec: infrav1.Metal3ClusterSpec{
			ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
		}})
	}
	thief.GetsNothing(w.t)
	thief.IsRefused(w.t, w.tenant.Client, client.ObjectKey{Namespace: w.tenant.Namespace, Name: "first"})
}

// floods makes the manager connect to a workload cluster whose responses exceed the limit.
func (w *tenancy) floods() {
	flood, u := testenv.NewFlood(w.t), testworld.NewUser(w.t, w.tenant.Client, patience)
	u.Kubeconfig(w.tenant.Namespace, "flood", flood.Kubeconfig())
	u.Cluster(&infrav1.Metal3Cluster{ObjectMeta: w.tenant.Meta("flood"), Spec: infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}})
	flood.IsEnded(w.t)
}
