// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

type nic = kubevirtv1.VirtualMachineInstanceNetworkInterface

func TestBackendAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		interfaces []nic
		v4, v6     string
	}{
		"no interface": {},
		"one of each family": {
			interfaces: []nic{{Name: "nic-1", IP: "192.168.1.5", IPs: []string{"192.168.1.5", "fd00::5"}}}, v4: "192.168.1.5", v6: "fd00::5",
		},
		"the first family is IPv6":     {interfaces: []nic{{Name: "nic-1", IP: "fe80::1", IPs: []string{"fe80::1", "fd00::5/64", "10.0.0.5/24"}}}, v4: "10.0.0.5", v6: "fd00::5"},
		"a network of containers":      {interfaces: []nic{{InterfaceName: "docker0", IP: "172.17.0.1"}, {Name: "nic-1", IP: "192.168.1.5"}}, v4: "192.168.1.5"},
		"only the guest knows it":      {interfaces: []nic{{InterfaceName: "eth0", IP: "192.168.1.5"}, {InterfaceName: "docker0", IP: "172.17.0.1"}}, v4: "192.168.1.5"},
		"loopback and nonsense":        {interfaces: []nic{{Name: "nic-1", IP: "127.0.0.1", IPs: []string{"::1", "none", "", "0.0.0.0", "224.0.0.1"}}}},
		"the first interface has none": {interfaces: []nic{{Name: "nic-1"}, {Name: "nic-2", IP: "192.168.2.5"}}, v4: "192.168.2.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text := func(a netip.Addr) string {
				if !a.IsValid() {
					return ""
				}
				return a.String()
			}
			g.Expect(text(addressOf(tc.interfaces, netip.Addr.Is4))).To(Equal(tc.v4))
			g.Expect(text(addressOf(tc.interfaces, isIPv6))).To(Equal(tc.v6))
		})
	}
}

func TestBackendSelection(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := func(name string, labels map[string]string, change ...func(*kubevirtv1.VirtualMachineInstance)) *kubevirtv1.VirtualMachineInstance {
		vmi := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		for _, each := range change {
			each(vmi)
		}
		return vmi
	}
	all := []*kubevirtv1.VirtualMachineInstance{
		machine("z", map[string]string{"app": "web", "tier": "front"}), machine("a", map[string]string{"app": "shop", "tier": "front"}),
		machine("other-tier", map[string]string{"app": "web", "tier": "back"}), machine("no-tier", map[string]string{"app": "web"}),
		machine("goes", map[string]string{"app": "web", "tier": "front"}, func(vmi *kubevirtv1.VirtualMachineInstance) { vmi.DeletionTimestamp = &metav1.Time{Time: time.Now()} }),
		machine("clone", map[string]string{"app": "web", "tier": "front", infrav1.MachineIDLabel: "id"}, func(vmi *kubevirtv1.VirtualMachineInstance) {
			vmi.Annotations = map[string]string{infrav1.OwnerAnnotation: "ns/z"}
		}),
		machine("stopped", map[string]string{"app": "web", "tier": "front"}, func(vmi *kubevirtv1.VirtualMachineInstance) { vmi.Status.Phase = kubevirtv1.Succeeded }),
	}
	lb := &lbv1.LoadBalancer{}
	names := func() (names []string) {
		for _, b := range backendsOf(lb, all) {
			names = append(names, b.name)
		}
		return names
	}
	g.Expect(names()).To(BeEmpty(), "a load balancer that selects nothing leads nowhere")
	lb.Spec.BackendServerSelector = map[string][]string{"app": {"web", "shop"}, "tier": {"front"}}
	g.Expect(names()).To(Equal([]string{"a", "z"}))
	g.Expect(terms(lb.Spec.BackendServerSelector)).To(Equal([]string{"app=shop", "app=web"}))
	g.Expect(terms(nil)).To(BeEmpty())
}

func TestAPortKeepsWhatOthersHaveAddedToIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := []corev1.ServicePort{{Name: "a", Port: 80, Protocol: "TCP", NodePort: 30001}, {Name: "b", Port: 53, Protocol: "UDP", NodePort: 30002}}
	g.Expect(servicePorts([]lbv1.Listener{
		{Name: "dns", Port: 53, Protocol: "UDP", BackendPort: 5353}, {Name: "dns-tcp", Port: 53, BackendPort: 5353},
	}, before)).To(Equal([]corev1.ServicePort{
		{Name: "dns", Port: 53, Protocol: "UDP", NodePort: 30002, TargetPort: intstr.FromInt32(5353)},
		{Name: "dns-tcp", Port: 53, Protocol: "TCP", TargetPort: intstr.FromInt32(5353)},
	}))
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	up, down := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	six := netip.MustParseAddr("fd00::1")
	answers := func(a netip.Addr) bool { return a != down }
	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lb", UID: "1"}}
	for name, tc := range map[string]struct {
		backends []backend
		main     discoveryv1.AddressType
		wanted   map[string][]string
	}{
		"nowhere":                      {main: "IPv4", wanted: map[string][]string{"lb": {"10.52.0.255+"}}},
		"nowhere, by IPv6":             {main: "IPv6", wanted: map[string][]string{"lb-ipv6": {"100::ffff+"}}},
		"to one that answers":          {main: "IPv4", backends: []backend{{ipv4: up}, {ipv4: down}}, wanted: map[string][]string{"lb": {"10.0.0.1+", "10.0.0.2-"}}},
		"to none that answers":         {main: "IPv4", backends: []backend{{ipv4: down}}, wanted: map[string][]string{"lb": {"10.0.0.2-", "10.52.0.255+"}}},
		"to both families":             {main: "IPv4", backends: []backend{{ipv4: up, ipv6: six}}, wanted: map[string][]string{"lb": {"10.0.0.1+"}, "lb-ipv6": {"fd00::1+"}}},
		"to the other family only":     {main: "IPv4", backends: []backend{{ipv6: six}}, wanted: map[string][]string{"lb": {"10.52.0.255+"}, "lb-ipv6": {"fd00::1+"}}},
		"to a machine without address": {main: "IPv4", backends: []backend{{}}, wanted: map[string][]string{"lb": {"10.52.0.255+"}}},
		"to IPv6, where that comes in": {main: "IPv6", backends: []backend{{ipv6: six}}, wanted: map[string][]string{"lb-ipv6": {"fd00::1+"}}},
		"to IPv4, where IPv6 comes in": {main: "IPv6", backends: []backend{{ipv4: up}}, wanted: map[string][]string{"lb": {"10.0.0.1+"}, "lb-ipv6": {"100::ffff+"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := map[string][]string{}
			for name, slice := range wantedSlices(lb, tc.main, tc.backends, answers) {
				g.Expect(slice.Labels).To(HaveKeyWithValue(discoveryv1.LabelServiceName, "lb"))
				g.Expect(belongs(lb, slice)).To(BeTrue())
				for _, e := range slice.Endpoints {
					got[name] = append(got[name], e.Addresses[0]+map[bool]string{true: "+", false: "-"}[*e.Conditions.Ready])
				}
			}
			g.Expect(got).To(Equal(tc.wanted))
		})
	}
}

func TestManyMachinesNeedSeveralEndpointSlices(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var all []backend
	for i := range 1001 {
		all = append(all, backend{name: fmt.Sprint(i), ipv4: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})})
	}
	slices := wantedSlices(&lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: "lb"}}, "IPv4", all, func(netip.Addr) bool { return true })
	g.Expect(slices).To(HaveLen(2))
	g.Expect(slices["lb"].Endpoints).To(HaveLen(1000))
	g.Expect(slices["lb-2"].Endpoints).To(HaveLen(1))
}

func TestBelongs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	label := map[string]string{lbv1.ServiceLabel: "true"}
	owner := func(uid types.UID) []metav1.OwnerReference { return []metav1.OwnerReference{{UID: uid}} }
	g.Expect(belongs(lb, &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owner("1")}})).To(BeTrue())
	g.Expect(belongs(lb, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: label}})).To(BeTrue())
	g.Expect(belongs(lb, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: label, OwnerReferences: owner("2")}})).To(BeFalse(), "of one of its name before")
	g.Expect(belongs(lb, &corev1.Service{})).To(BeFalse())
}

func TestReleasablePools(t *testing.T) {
	t.Parallel()
	announced := func(ip string) *corev1.Service {
		s := &corev1.Service{}
		if ip != "" {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
		}
		return s
	}
	for name, tc := range map[string]struct {
		workload lbv1.WorkloadType
		claims   string
		address  string
		service  *corev1.Service
		wanted   []string
	}{
		"nothing is claimed":                {service: announced("10.0.0.1")},
		"the new one is announced":          {claims: "old,other", service: announced("10.0.0.1"), wanted: []string{"old", "other"}},
		"the old one is still announced":    {claims: "old", service: announced("10.9.9.9")},
		"nothing is announced yet":          {claims: "old", service: announced("")},
		"without a Service":                 {claims: "old"},
		"the guest cluster has the new one": {workload: lbv1.WorkloadCluster, claims: "old", address: "10.0.0.1", wanted: []string{"old"}},
		"the guest cluster has the old one": {workload: lbv1.WorkloadCluster, claims: "old", address: "10.9.9.9"},
		"no report of the guest cluster":    {workload: lbv1.WorkloadCluster, claims: "old"},
		"what is wanted is not given back":  {claims: "old,wanted", service: announced("10.0.0.1"), wanted: []string{"old"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := &lbv1.LoadBalancer{}
			lb.Spec.WorkloadType, lb.Status.Address = tc.workload, tc.address
			lb.Annotations = map[string]string{lbv1.ClaimsAnnotation: tc.claims}
			lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IPPool: "new", IP: "10.0.0.1"}
			NewWithT(t).Expect(releasablePools(lb, tc.service, "wanted")).To(ConsistOf(tc.wanted))
		})
	}
}

func TestReplacedAddressStaysClaimed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lb := &lbv1.LoadBalancer{}
	lb.Annotations = map[string]string{lbv1.ClaimsAnnotation: "b"}
	lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IPPool: "a", IP: "10.0.0.1"}
	address := allocated(ipam.Claimed{Pool: "b", Address: allocation.Address{
		IP: netip.MustParseAddr("fd00::5"), Subnet: netip.MustParsePrefix("fd00::/64"), Gateway: netip.MustParseAddr("fd00::1"),
	}})
	g.Expect(address).To(Equal(lbv1.AllocatedAddress{IPPool: "b", IP: "fd00::5", Mask: "ffff:ffff:ffff:ffff::", Gateway: "fd00::1"}))
	setAddress(lb, address)
	g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.ClaimsAnnotation, "a"))
	g.Expect(possiblePools(lb)).To(ConsistOf("a", "b"))
	setAddress(lb, address)
	g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.ClaimsAnnotation, "a"))
}

func TestConditionTimesChangeWithContent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lb := &lbv1.LoadBalancer{}
	lb.Status.Conditions = []lbv1.Condition{{Type: "Other", Status: "True"}}
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	setReady(lb, problem{"Waiting", "for something"}, at(1))
	setReady(lb, problem{"Waiting", "for something"}, at(2))
	first := lbv1.Condition{
		Type: "Ready", Status: "False", Reason: "Waiting", Message: "for something",
		LastUpdateTime: "2026-01-01T01:00:00Z", LastTransitionTime: "2026-01-01T01:00:00Z",
	}
	g.Expect(lb.Status.Conditions).To(Equal([]lbv1.Condition{{Type: "Other", Status: "True"}, first}))
	setReady(lb, problem{"Waiting", "for something else"}, at(3))
	g.Expect(lb.Status.Conditions[1].LastUpdateTime).To(Equal("2026-01-01T03:00:00Z"))
	g.Expect(lb.Status.Conditions[1].LastTransitionTime).To(Equal("2026-01-01T01:00:00Z"))
	setReady(lb, problem{}, at(4))
	g.Expect(lb.Status.Conditions[1]).To(Equal(lbv1.Condition{
		Type: "Ready", Status: "True", LastUpdateTime: "2026-01-01T04:00:00Z", LastTransitionTime: "2026-01-01T04:00:00Z",
	}))
}
