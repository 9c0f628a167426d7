// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// harvesterOf is a fake Harvester without events.
type harvesterOf struct {
	known, live map[string]*lbv1.LoadBalancer
	refuses     error // error of Create
	writes      int
}

func (h *harvesterOf) Namespace() string { return "team" }

func (h *harvesterOf) Balancers(_ context.Context, labels client.MatchingLabels) ([]lbv1.LoadBalancer, error) {
	var list []lbv1.LoadBalancer
	for _, lb := range h.known {
		matches := true
		for key, value := range labels {
			matches = matches && lb.Labels[key] == value
		}
		if matches {
			list = append(list, *lb.DeepCopy())
		}
	}
	return list, nil
}

func (h *harvesterOf) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	lb, there := h.live[key.Name]
	if !there {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "loadbalancers"}, key.Name)
	}
	lb.DeepCopyInto(o.(*lbv1.LoadBalancer))
	return nil
}

func (h *harvesterOf) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	h.writes++
	if h.refuses != nil {
		return h.refuses
	}
	if _, there := h.live[o.GetName()]; there {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "loadbalancers"}, o.GetName())
	}
	h.live[o.GetName()] = o.(*lbv1.LoadBalancer).DeepCopy()
	return nil
}

func (h *harvesterOf) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	h.writes++
	if o.GetResourceVersion() != h.live[o.GetName()].ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "loadbalancers"}, o.GetName(), errors.New("changed"))
	}
	lb := &lbv1.LoadBalancer{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.(*unstructured.Unstructured).Object, lb); err != nil {
		return err
	}
	h.live[lb.Name] = lb
	return nil
}

func (h *harvesterOf) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	h.writes++
	delete(h.live, o.GetName())
	return nil
}

func servicesOf(t *testing.T, h *harvesterOf, list ...*corev1.Service) (*Services, *fake.Clientset) {
	t.Helper()
	guest := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "this"}})
	informer := informers.NewSharedInformerFactory(guest, 0).Core().V1().Services().Informer()
	s, err := New(h, guest, informer, func(context.Context, string) (string, error) { return "", nil }, Options{Cluster: "blue"})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range list {
		if _, err := guest.CoreV1().Services(service.Namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := informer.GetIndexer().Add(service); err != nil {
			t.Fatal(err)
		}
	}
	return s, guest
}

func none() map[string]*lbv1.LoadBalancer { return map[string]*lbv1.LoadBalancer{} }

func TestAddressIsReadWithoutEvent(t *testing.T) {
	g := NewWithT(t)
	web := service("web", func(s *corev1.Service) { s.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"} })
	h := &harvesterOf{known: none(), live: none()}
	s, guest := servicesOf(t, h, web)
	for range 2 {
		_, err := s.EnsureLoadBalancer(t.Context(), "", web, nil)
		g.Expect(err).To(BeIdenticalTo(cloudprovider.ImplementedElsewhere), "it is not an error to wait")
	}
	g.Expect(h.writes).To(Equal(1), "it waits with the one that it has made")

	h.live[Name("blue", web)].Status.AllocatedAddress.IP = "10.0.0.1"
	_, err := s.EnsureLoadBalancer(t.Context(), "", web, nil)
	g.Expect(err).NotTo(HaveOccurred())
	now, err := guest.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(now.Spec.LoadBalancerIP).To(Equal("10.0.0.1"))
	g.Expect(h.writes).To(Equal(1))
}

func TestConflictingLoadBalancerIsReadAgain(t *testing.T) {
	g := NewWithT(t)
	web := service("web", func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}
	})
	o := Options{Cluster: "blue"}
	old := o.wanted(service("web"), o.neededParts(web)[0], nil, "this")
	old.Status.AllocatedAddress.IP, old.ResourceVersion = "10.0.0.1", "1"
	current := old.DeepCopy()
	current.ResourceVersion, current.Finalizers = "2", []string{"harvester"}
	h := &harvesterOf{known: map[string]*lbv1.LoadBalancer{old.Name: old}, live: map[string]*lbv1.LoadBalancer{old.Name: current}}
	s, _ := servicesOf(t, h, web)
	_, err := s.EnsureLoadBalancer(t.Context(), "", web, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.live[old.Name]).To(And(HaveField("Status.Address", "10.0.0.1"), HaveField("Finalizers", ConsistOf("harvester"))))
}

func TestLoadBalancerOfAnotherClusterIsKept(t *testing.T) {
	g := NewWithT(t)
	web := service("web")
	o := Options{Cluster: "blue"}
	foreign := o.wanted(web, o.neededParts(web)[0], nil, "that")
	h := &harvesterOf{known: none(), live: map[string]*lbv1.LoadBalancer{foreign.Name: foreign}}
	s, _ := servicesOf(t, h, web)
	_, err := s.EnsureLoadBalancer(t.Context(), "", web, nil)
	g.Expect(err).To(MatchError(ContainSubstring("belongs to another cluster")))
	g.Expect(s.EnsureLoadBalancerDeleted(t.Context(), "", web)).To(Succeed())
	h.known = h.live
	g.Expect(s.reconcile(t.Context(), keyOf(web), nil)).To(Succeed())
	g.Expect(h.live).To(HaveKey(foreign.Name))
	g.Expect(h.writes).To(BeZero())
}

func TestLoadBalancerOfRecreatedServiceIsDeleted(t *testing.T) {
	g := NewWithT(t)
	o := Options{Cluster: "blue"}
	former := service("web")
	former.UID = "former"
	left := o.wanted(former, o.neededParts(former)[0], nil, "this")
	web := service("web")
	own := o.wanted(web, o.neededParts(web)[0], nil, "this")
	h := &harvesterOf{known: map[string]*lbv1.LoadBalancer{left.Name: left, own.Name: own}, live: map[string]*lbv1.LoadBalancer{left.Name: left, own.Name: own}}
	s, _ := servicesOf(t, h, web)
	g.Expect(s.reconcile(t.Context(), keyOf(web), web)).To(Succeed())
	g.Expect(h.live).To(And(HaveLen(1), HaveKey(own.Name)))
}

func TestUnprovenLoadBalancerOfRecreatedServiceIsKeptAndReported(t *testing.T) {
	g := NewWithT(t)
	o := Options{Cluster: "blue"}
	former := service("web")
	former.UID = "former"
	left := o.wanted(former, o.neededParts(former)[0], nil, "")
	delete(left.Annotations, lbv1.ClusterUIDAnnotation) // which upstream's cloud provider does not set
	web := service("web")
	own := o.wanted(web, o.neededParts(web)[0], nil, "this")
	h := &harvesterOf{known: map[string]*lbv1.LoadBalancer{left.Name: left, own.Name: own}, live: map[string]*lbv1.LoadBalancer{left.Name: left, own.Name: own}}
	s, _ := servicesOf(t, h, web)
	g.Expect(s.reconcile(t.Context(), keyOf(web), web)).To(Succeed())
	g.Expect(h.live).To(HaveLen(2), "another cluster of the name may use it")
	f := &follower{Services: s}
	remarks := f.remarks(t.Context(), keyOf(web), web)
	g.Expect(remarks).To(HaveLen(1))
	g.Expect(remarks[0].reason).To(Equal("LoadBalancerLeft"))
	g.Expect(remarks[0].warns).To(BeTrue())
	g.Expect(remarks[0].text).To(ContainSubstring(left.Name))
	delete(h.known, left.Name)
	g.Expect(f.remarks(t.Context(), keyOf(web), web)).To(BeEmpty())
}

func TestBalancedReportsAddressesOfServices(t *testing.T) {
	g := NewWithT(t)
	leased := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.168.0.9"}}
	}
	s, _ := servicesOf(t, &harvesterOf{}, service("web", annotated(lbv1.AddressesAnnotation, "10.0.0.1,fd00::1")), service("db", leased))
	for _, address := range []string{"10.0.0.1", "fd00::1", "192.168.0.9"} {
		g.Expect(s.Balanced(address)).To(BeTrue(), address)
	}
	g.Expect(s.Balanced("10.0.0.2")).To(BeFalse())
}
