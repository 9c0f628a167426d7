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
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

// fixture is a management cluster whose API server calls no webhooks, so that only the manager isolates tenants.
type fixture struct {
	*WithT
	t      *testing.T
	admin  client.Client
	victim testenv.Tenant
	tenant testenv.Tenant
}

// TestNamespaceIsolation makes a tenant try to misuse the permissions of the manager, which runs as
// installed except for its webhooks, and those of the bare-metal operator.
func TestNamespaceIsolation(t *testing.T) {
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
	for name, attempt := range map[string]func(*fixture){
		"Secrets of another on a host of its own":        (*fixture).checkSecrets,
		"a host of another":                              (*fixture).checkHost,
		"a template of another, and its pools and hosts": (*fixture).checkTemplate,
		"the token of the manager":                       (*fixture).checkToken,
		"answers that do not end":                        (*fixture).checkFlood,
	} {
		t.Run(name, func(t *testing.T) {
			g := integration.NewGomega(t)
			f := &fixture{WithT: g, t: t, admin: admin, victim: victim, tenant: testenv.NewTenant(t, env, admin)}
			if name != "a host of another" {
				layout.First = first
				first++
				g.Expect(simulator.Create(t.Context(), f.tenant.Client, f.tenant.Namespace, layout)).To(Succeed())
			}
			attempt(f)
		})
	}
}

// machine creates a cluster and a machine.
func (f *fixture) machine(change func(*infrav1.Metal3Machine)) *infrav1.Metal3Machine {
	f.t.Helper()
	u := integration.NewUser(f.t, f.tenant.Client)
	u.Cluster(&infrav1.Metal3Cluster{
		ObjectMeta: f.tenant.Meta("c"), Spec: infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443}},
	})
	machine := &infrav1.Metal3Machine{ObjectMeta: f.tenant.Meta("m"), Spec: infrav1.Metal3MachineSpec{
		Image: infrav1.Image{URL: "https://images.example.com/node.qcow2", Checksum: "0123456789abcdef"},
	}}
	change(machine)
	u.Machine("c", "", machine)
	return machine
}

func (f *fixture) checkSecrets() {
	theirs := &corev1.SecretReference{Namespace: f.victim.Namespace, Name: "password"}
	f.machine(func(m *infrav1.Metal3Machine) {
		m.Spec.UserData, m.Spec.MetaData, m.Spec.NetworkData = theirs, theirs, theirs
	})
	hosts := &bmov1alpha1.BareMetalHostList{}
	f.Eventually(func(g Gomega) {
		g.Expect(f.tenant.Client.List(f.t.Context(), hosts, client.InNamespace(f.tenant.Namespace))).To(Succeed())
		g.Expect(hosts.Items).To(HaveLen(1))
		g.Expect(hosts.Items[0].Spec.Image).NotTo(BeNil())
	}).Should(Succeed())
	for _, ref := range []*corev1.SecretReference{hosts.Items[0].Spec.UserData, hosts.Items[0].Spec.MetaData, hosts.Items[0].Spec.NetworkData} {
		f.Expect(ref).To(HaveField("Namespace", f.tenant.Namespace))
	}
}

func (f *fixture) checkHost() {
	hosts := &bmov1alpha1.BareMetalHostList{}
	f.Expect(f.admin.List(f.t.Context(), hosts, client.InNamespace(f.victim.Namespace))).To(Succeed())
	f.Expect(hosts.Items).To(HaveLen(1))
	machine := f.machine(func(m *infrav1.Metal3Machine) {
		m.Annotations = map[string]string{infrav1.HostAnnotation: f.victim.Namespace + "/" + hosts.Items[0].Name}
	})
	f.Eventually(func(g Gomega) {
		g.Expect(f.tenant.Client.Get(f.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(conditions.GetReason(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition)).To(Equal(infrav1.NoCapacityReason), "%v", machine.Status.Conditions)
	}).Should(Succeed())
	f.Expect(f.admin.Get(f.t.Context(), client.ObjectKeyFromObject(&hosts.Items[0]), &hosts.Items[0])).To(Succeed())
	f.Expect(hosts.Items[0].Spec.ConsumerRef).To(BeNil())
}

func (f *fixture) checkTemplate() {
	template := &infrav1.Metal3DataTemplate{ObjectMeta: f.victim.Meta("nodes-" + f.tenant.Namespace)}
	template.Spec.MetaData = &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "password", Value: "secret"}}}
	f.Expect(f.victim.Client.Create(f.t.Context(), template)).To(Succeed())
	f.machine(func(m *infrav1.Metal3Machine) {
		m.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Namespace: template.Namespace, Name: template.Name}
	})
	claim := &infrav1.Metal3DataClaim{}
	f.Eventually(func() error {
		return f.tenant.Client.Get(f.t.Context(), client.ObjectKey{Namespace: f.tenant.Namespace, Name: "m"}, claim)
	}).Should(Succeed())
	f.Expect(claim.Spec.Template.Namespace).To(Equal(f.tenant.Namespace))
}

// checkToken makes the manager read a kubeconfig that refers to a file of the manager.
func (f *fixture) checkToken() {
	thief, u := testenv.NewSecretServer(f.t), integration.NewUser(f.t, f.tenant.Client)
	for _, name := range []string{"first", "second"} {
		kubeconfig := thief.File()
		if name == "second" {
			kubeconfig = thief.Own()
		}
		u.Kubeconfig(f.tenant.Namespace, name, kubeconfig)
		u.Cluster(&infrav1.Metal3Cluster{ObjectMeta: f.tenant.Meta(name), Spec: infrav1.Metal3ClusterSpec{
			ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
		}})
	}
	thief.ReceivesNothing(f.t)
	thief.IsRefused(f.t, f.tenant.Client, client.ObjectKey{Namespace: f.tenant.Namespace, Name: "first"})
}

// checkFlood makes the manager connect to a workload cluster whose responses exceed the limit.
func (f *fixture) checkFlood() {
	flood, u := testenv.NewFlood(f.t), integration.NewUser(f.t, f.tenant.Client)
	u.Kubeconfig(f.tenant.Namespace, "flood", flood.Kubeconfig())
	u.Cluster(&infrav1.Metal3Cluster{ObjectMeta: f.tenant.Meta("flood"), Spec: infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}})
	flood.IsEnded(f.t)
}
