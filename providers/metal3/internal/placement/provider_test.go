// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	shared "github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

func TestDomains(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(bmov1alpha1.AddToScheme(scheme)).To(Succeed())
	host := func(namespace, name string) *bmov1alpha1.BareMetalHost {
		h := &bmov1alpha1.BareMetalHost{}
		h.Namespace, h.Name, h.Labels = namespace, name, map[string]string{infrav1.FailureDomainLabel: "a"}
		h.Spec.Online, h.Status.Provisioning.State = true, bmov1alpha1.StateAvailable
		return h
	}
	metal3 := placement.Metal3{Client: fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(host("ns", "one"), host("elsewhere", "two")).Build()}
	cluster := metal3.NewCluster().(*infrav1.Metal3Cluster)
	cluster.Namespace = "ns"
	g.Expect(metal3.Domains(t.Context(), cluster)).To(BeEmpty())
	cluster.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "a", ControlPlane: ptr.To(true)}, {Name: "b"}}
	g.Expect(metal3.Domains(t.Context(), cluster)).To(HaveExactElements(
		And(HaveField("Name", "a"), HaveField("Health", distribution.Healthy), HaveField("Capacity", HaveValue(BeEquivalentTo(1)))),
		And(HaveField("Name", "b"), HaveField("Health", distribution.Unhealthy))))
	_, err := metal3.Domains(t.Context(), &providertest.Cluster{})
	g.Expect(err).To(HaveOccurred())
}

func TestPlaceExists(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	metal3 := placement.Metal3{}
	machine := metal3.NewMachine().(*infrav1.Metal3Machine)
	g.Expect(metal3.Location(machine)).To(BeZero())
	machine.Annotations = map[string]string{infrav1.HostAnnotation: "ns/one"}
	g.Expect(metal3.Location(machine)).To(Equal(shared.Location{Exists: true}))
	machine.Status.FailureDomain = "a"
	g.Expect(metal3.Location(machine)).To(Equal(shared.Location{Domain: "a", Exists: true}))
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(bmov1alpha1.AddToScheme(scheme)).To(Succeed())
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	host := func(name, domain, size, consumer string) {
		h := &bmov1alpha1.BareMetalHost{}
		h.Namespace, h.Name, h.Labels = "ns", name, map[string]string{infrav1.FailureDomainLabel: domain, "size": size}
		h.Spec.Online, h.Status.Provisioning.State = true, bmov1alpha1.StateAvailable
		if consumer != "" {
			h.Spec.ConsumerRef = &corev1.ObjectReference{Name: consumer}
		}
		g.Expect(c.Create(t.Context(), h)).To(Succeed())
	}
	host("one", "a", "large", "")
	host("two", "a", "small", "")
	host("three", "b", "small", "")
	host("four", "b", "large", "somebody")
	host("five", "c", "large", "")
	host("six", "c", "large", "")
	metal3, machine := placement.Metal3{Client: c}, &infrav1.Metal3Machine{}
	machine.Namespace = "ns"
	g.Expect(metal3.Requirements(machine)).To(BeEmpty(), "it suits wherever there is a host")
	machine.Spec.HostSelector.MatchLabels = map[string]string{"size": "large"}
	g.Expect(metal3.Requirements(machine)).To(Equal("size=large"))
	g.Expect(metal3.Capacity(t.Context(), machine)).To(Equal(map[string]int{"a": 1, "c": 2}))
	machine.Spec.HostSelector.MatchLabels = map[string]string{"size": "huge"}
	g.Expect(metal3.Capacity(t.Context(), machine)).To(BeEmpty())
	machine.Spec.HostSelector.MatchLabels = map[string]string{"size": "not a label"}
	g.Expect(metal3.Requirements(machine)).To(BeEmpty(), "the machine's own condition reports the error")
}
