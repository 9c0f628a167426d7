// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/randfill"

	"github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1alpha1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/conversion"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// TestNothingIsLostBetweenVersions converts thousands of random objects in both directions and back.
func TestNothingIsLostBetweenVersions(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(lbv1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	rulestest.Keeping(scheme, func(hub *lbv1.LoadBalancer, spoke *v1alpha1.LoadBalancer) {
		fromHub(hub, spoke)
		delete(spoke.Annotations, lbv1.BackendServersAnnotation) // a client's request stays in it until resolved
	}, toHub, modes)(t)
}

func asOlder(t *testing.T, hub *lbv1.LoadBalancer, spoke *v1alpha1.LoadBalancer) error {
	t.Helper()
	from, _ := conversion.Keeping(fromHub, toHub)
	return from(t.Context(), hub, spoke)
}

func asHub(t *testing.T, spoke *v1alpha1.LoadBalancer, hub *lbv1.LoadBalancer) error {
	t.Helper()
	_, to := conversion.Keeping(fromHub, toHub)
	return to(t.Context(), spoke, hub)
}

// modes sets the source of the address, which v1alpha1 requires.
func modes(spec *v1alpha1.LoadBalancerSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.IPAM = []lbv1.IPAM{lbv1.IPAMPool, lbv1.IPAMDHCP}[c.Intn(2)]
}

func TestConversionWithInvalidAnnotation(t *testing.T) {
	t.Parallel()
	older := &v1alpha1.LoadBalancer{Status: v1alpha1.LoadBalancerStatus{Address: "10.0.0.5"}}
	older.Spec.IPAM = lbv1.IPAMPool
	want := &lbv1.LoadBalancer{Spec: lbv1.LoadBalancerSpec{IPAM: lbv1.IPAMPool}}
	want.Status.Address, want.Status.AllocatedAddress.IP = "10.0.0.5", "10.0.0.5"
	rulestest.SurvivesBadAnnotations(t, want, func(annotations map[string]string) (*lbv1.LoadBalancer, error) {
		spoke, hub := older.DeepCopy(), &lbv1.LoadBalancer{}
		spoke.Annotations = annotations
		return hub, asHub(t, spoke, hub)
	})
}

func TestConversionWithoutStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	older, newer := &v1alpha1.LoadBalancer{}, &lbv1.LoadBalancer{}
	g.Expect(asHub(t, older, newer)).To(Succeed())
	g.Expect(newer).To(Equal(&lbv1.LoadBalancer{}))
	g.Expect(asOlder(t, newer, older)).To(Succeed())
	g.Expect(older.Spec).To(Equal(v1alpha1.LoadBalancerSpec{IPAM: lbv1.IPAMPool}))
}

func TestHealthCheckPeriodRoundTrip(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	older, newer := &v1alpha1.LoadBalancer{}, &lbv1.LoadBalancer{}
	older.Spec.HealthCheck = &v1alpha1.HealthCheck{Port: 80, PeriodSeconds: 7}
	g.Expect(asHub(t, older, newer)).To(Succeed())
	g.Expect(newer.Spec.HealthCheck).To(HaveValue(Equal(lbv1.HealthCheck{Port: 80, PeriodSeconds: 7})))
	newer.Spec.HealthCheck.PeriodSeconds = 8
	g.Expect(asOlder(t, newer, older)).To(Succeed())
	g.Expect(older.Spec.HealthCheck.PeriodSeconds).To(BeEquivalentTo(8))
}

// stored returns a load balancer with two machines.
func stored() *lbv1.LoadBalancer {
	return &lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "lb1"},
		Spec: lbv1.LoadBalancerSpec{
			WorkloadType: lbv1.WorkloadVM, IPPool: "pool1", BackendServerSelector: map[string][]string{"app": {"web"}},
		},
		Status: lbv1.LoadBalancerStatus{
			BackendServers: []string{"10.0.0.1", "10.0.0.2"}, Address: "192.168.0.100",
			AllocatedAddress: lbv1.AllocatedAddress{IPPool: "pool1", IP: "192.168.0.100", Mask: "255.255.255.0"},
		},
	}
}

// written converts a load balancer to v1alpha1, applies the change of a client, and converts it back.
func written(t *testing.T, lb *lbv1.LoadBalancer, change func(*v1alpha1.LoadBalancer)) *lbv1.LoadBalancer {
	t.Helper()
	g := NewWithT(t)
	older, newer := &v1alpha1.LoadBalancer{}, &lbv1.LoadBalancer{}
	g.Expect(asOlder(t, lb.DeepCopy(), older)).To(Succeed())
	change(older)
	g.Expect(asHub(t, older, newer)).To(Succeed())
	return newer
}

func TestConversionKeepsUnchangedFields(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	want := stored()
	want.Status.Address = "192.168.0.101"
	g.Expect(written(t, stored(), func(older *v1alpha1.LoadBalancer) {
		g.Expect(older.Spec.BackendServers).To(Equal([]string{"10.0.0.1", "10.0.0.2"}))
		older.Status.Address = "192.168.0.101"
	})).To(HaveField("Spec", want.Spec))
	asking := stored()
	setRequestedServers(asking, []string{"10.0.0.3"})
	got := written(t, asking, func(older *v1alpha1.LoadBalancer) {
		g.Expect(older.Spec.BackendServers).To(Equal([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}))
		older.Spec.Description = "changed"
	})
	g.Expect(got.Spec.BackendServerSelector).To(Equal(stored().Spec.BackendServerSelector), "a machine that is not found yet is not a change")
	g.Expect(RequestedServers(got)).To(Equal([]string{"10.0.0.3"}))
}

func TestBackendsOfOlderClientAreSelectedByName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lb := written(t, stored(), func(older *v1alpha1.LoadBalancer) {
		older.Spec.BackendServers = []string{"10.0.0.1", "fd00::3", "10.0.0.4"}
	})
	g.Expect(lb.Spec.BackendServerSelector).To(BeEmpty())
	g.Expect(RequestedServers(lb)).To(Equal([]string{"10.0.0.1", "fd00::3", "10.0.0.4"}))

	machines := []kubevirtv1.VirtualMachineInstance{
		machine("other", "a", "10.0.0.1"), machine("default", "", "10.0.0.1"), machine("default", "a", "10.0.0.1"), machine("default", "c", "10.0.0.3", "fd00::3"),
	}
	g.Expect(Complete(lb, nil, machines)).To(BeTrue())
	g.Expect(lb.Spec.BackendServerSelector).To(Equal(map[string][]string{infrav1.VMNameLabel: {"a", "c"}}))
	g.Expect(lb.Status.BackendServers).To(Equal([]string{"10.0.0.1", "fd00::3"}))
	g.Expect(RequestedServers(lb)).To(Equal([]string{"10.0.0.4"}), "a machine that has no such address yet is asked for on")
	g.Expect(Complete(lb, nil, machines)).To(BeFalse(), "once")

	g.Expect(Complete(lb, nil, append(machines, machine("default", "d", "10.0.0.4")))).To(BeTrue())
	g.Expect(lb.Spec.BackendServerSelector).To(Equal(map[string][]string{infrav1.VMNameLabel: {"a", "c", "d"}}))
	g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.BackendServersAnnotation))
}

func TestEmptiedBackendsOfOlderClient(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lb := written(t, stored(), func(older *v1alpha1.LoadBalancer) { older.Spec.BackendServers = nil })
	g.Expect(lb.Spec.BackendServerSelector).To(BeEmpty())
	g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.BackendServersAnnotation))
}

func machine(namespace, name string, addresses ...string) kubevirtv1.VirtualMachineInstance {
	m := kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vmi-" + name}}
	if name != "" {
		m.Labels = map[string]string{infrav1.VMNameLabel: name}
	}
	m.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{{IP: addresses[0], IPs: addresses}}
	return m
}

func TestPoolOfOlderLoadBalancer(t *testing.T) {
	t.Parallel()
	older := &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "lb1"}}
	older.Spec.IPAM, older.Status.Address = lbv1.IPAMPool, "192.168.0.100"
	for name, tc := range map[string]struct {
		allocated, history map[string]string
		want               string
	}{
		"in use":                    {allocated: map[string]string{"192.168.0.100": "default/lb1"}, want: "pool"},
		"in use, written otherwise": {allocated: map[string]string{"::ffff:192.168.0.100": "default/lb1"}, want: "pool"},
		"after a migration":         {history: map[string]string{"192.168.0.100": "default/lb1"}, want: "pool"},
		"somebody else's":           {allocated: map[string]string{"192.168.0.100": "default/lb2"}},
		"nobody's":                  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			lb := &lbv1.LoadBalancer{}
			g.Expect(asHub(t, older.DeepCopy(), lb)).To(Succeed())
			g.Expect(NeedsPool(lb)).To(BeTrue())
			pools := []lbv1.IPPool{
				{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Status: lbv1.IPPoolStatus{Allocated: map[string]string{"192.168.1.100": "default/lb1"}}},
				{ObjectMeta: metav1.ObjectMeta{Name: "pool"}, Status: lbv1.IPPoolStatus{Allocated: tc.allocated, AllocatedHistory: tc.history}},
			}
			g.Expect(Complete(lb, pools, nil)).To(Equal(tc.want != ""))
			g.Expect(lb.Spec.IPPool).To(Equal(tc.want))
			g.Expect(lb.Status.AllocatedAddress).To(Equal(lbv1.AllocatedAddress{IP: "192.168.0.100", IPPool: tc.want}))
		})
	}
}

func TestAnAddressOfADHCPServerNeedsNoPool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	older, lb := &v1alpha1.LoadBalancer{}, &lbv1.LoadBalancer{}
	older.Spec.IPAM, older.Status.Address = lbv1.IPAMDHCP, "192.168.0.100"
	g.Expect(asHub(t, older, lb)).To(Succeed())
	g.Expect(lb.Status.AllocatedAddress.IP).To(Equal(lbv1.UnspecifiedAddress))
	g.Expect(NeedsPool(lb)).To(BeFalse())
}

func TestReplacementByOlderClientKeepsFields(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lb := written(t, stored(), func(older *v1alpha1.LoadBalancer) {
		older.Annotations = nil
		older.Spec.Description = "anew"
	})
	want := stored()
	want.Spec.Description, want.Spec.IPAM = "anew", lbv1.IPAMPool
	CarryOver(stored(), lb)
	g.Expect(lb.Spec).To(Equal(want.Spec))
	g.Expect(lb.Status).To(Equal(want.Status))
	g.Expect(RequestedServers(lb)).To(BeEmpty())
}
