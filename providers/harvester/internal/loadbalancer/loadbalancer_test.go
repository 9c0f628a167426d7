// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

func by(id string, change ...func(*infrav1.HarvesterCluster)) owned.By {
	cluster := &infrav1.HarvesterCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "c", Annotations: map[string]string{infrav1.ClusterIDAnnotation: id},
	}}
	cluster.Spec.TargetNamespace, cluster.Spec.LoadBalancerConfig.IPAMType = "vms", infrav1.DHCP
	for _, c := range change {
		c(cluster)
	}
	return owned.By{Cluster: cluster, Name: "c"}
}

func TestWanted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, two := loadbalancer.Wanted(by("1"), 0, ""), loadbalancer.Wanted(by("2"), 0, "")
	g.Expect(one.Name).NotTo(Equal(two.Name))
	g.Expect(one.Spec.BackendServerSelector).To(Equal(map[string][]string{infrav1.ControlPlaneLabel: {"1"}}))
	g.Expect(two.Spec.BackendServerSelector).To(Equal(map[string][]string{infrav1.ControlPlaneLabel: {"2"}}))
}

func TestListeners(t *testing.T) {
	t.Parallel()
	join := infrav1.Listener{Name: "join", Port: 9345, Protocol: corev1.ProtocolTCP, BackendPort: 9345}
	own := infrav1.Listener{Name: "api", Port: 443, Protocol: corev1.ProtocolTCP, BackendPort: 6443}
	for name, tc := range map[string]struct {
		given         []infrav1.Listener
		port, backend int32
		want          []lbv1.Listener
	}{
		"by default":             {want: []lbv1.Listener{{Name: "api-server", Port: 6443, Protocol: "TCP", BackendPort: 6443}}},
		"of the Cluster":         {backend: 7443, want: []lbv1.Listener{{Name: "api-server", Port: 7443, Protocol: "TCP", BackendPort: 7443}}},
		"of the endpoint":        {port: 443, want: []lbv1.Listener{{Name: "api-server", Port: 443, Protocol: "TCP", BackendPort: 6443}}},
		"with another":           {given: []infrav1.Listener{join}, want: []lbv1.Listener{{Name: "join", Port: 9345, Protocol: "TCP", BackendPort: 9345}, {Name: "api-server", Port: 6443, Protocol: "TCP", BackendPort: 6443}}},
		"replaced by the user's": {given: []infrav1.Listener{own}, port: 443, want: []lbv1.Listener{{Name: "api", Port: 443, Protocol: "TCP", BackendPort: 6443}}},
		"with the user's on UDP": {given: []infrav1.Listener{{Name: "u", Port: 6443, Protocol: "UDP", BackendPort: 1}}, want: []lbv1.Listener{{Name: "u", Port: 6443, Protocol: "UDP", BackendPort: 1}, {Name: "api-server", Port: 6443, Protocol: "TCP", BackendPort: 6443}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			of := by("1", func(c *infrav1.HarvesterCluster) {
				c.Spec.LoadBalancerConfig.Listeners, c.Spec.ControlPlaneEndpoint.Port = tc.given, tc.port
			})
			lb := loadbalancer.Wanted(of, tc.backend, "")
			g.Expect(lb.Spec.Listeners).To(Equal(tc.want))
			service, slice := loadbalancer.Service(of, lb), loadbalancer.Placeholder(of, lb)
			g.Expect(service.Spec.Ports).To(HaveLen(len(tc.want)))
			g.Expect(slice.Ports).To(HaveLen(len(tc.want)))
		})
	}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	published := by("1", func(c *infrav1.HarvesterCluster) { c.Spec.ControlPlaneEndpoint.Host = "10.0.0.1" })
	lb := func(name, id, address string) lbv1.LoadBalancer {
		o := lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: lbv1.LoadBalancerStatus{Address: address}}
		if id != "" {
			o.Labels = map[string]string{infrav1.ClusterIDLabel: id}
			o.Annotations = map[string]string{infrav1.OwnerAnnotation: "ns/c"}
		}
		return o
	}
	copied := lb("x", "1", "")
	copied.Annotations[infrav1.OwnerAnnotation] = "ns/first"
	now := loadbalancer.Wanted(published, 0, "").Name
	for name, tc := range map[string]struct {
		there        lbv1.LoadBalancer
		own, foreign bool
	}{
		"by its id":                        {there: lb(now, "1", ""), own: true},
		"by its id, under the former name": {there: lb("ns-c-lb", "1", ""), own: true},
		"a copy under another name":        {there: lb("x", "1", "")},
		"by its id, but of the cluster that this one is a copy of": {there: copied},
		"another's of its name":                 {there: lb(now, "2", "10.0.0.1"), foreign: true},
		"of its name, without an id":            {there: lb(now, "", "10.0.0.1"), foreign: true},
		"of the former name, with the address":  {there: lb("ns-c-lb", "", "10.0.0.1"), own: true},
		"of the former name, at another":        {there: lb("ns-c-lb", "", "10.0.0.2")},
		"of the former name, and another's now": {there: lb("ns-c-lb", "2", "10.0.0.1")},
	} {
		own, foreign := loadbalancer.Own(published, []lbv1.LoadBalancer{lb("other", "", ""), tc.there})
		g.Expect(own != nil).To(Equal(tc.own), name)
		g.Expect(foreign != nil).To(Equal(tc.foreign), name)
	}
	own, _ := loadbalancer.Own(by("1"), []lbv1.LoadBalancer{lb("ns-c-lb", "", "")})
	g.Expect(own).To(BeNil(), "a cluster that has published nothing has had no load balancer")
}

func TestAddressSettingsOfLoadBalancerAreKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := by("1")
	lb := loadbalancer.Wanted(of, 0, "pool")
	lb.Spec.BackendServerSelector = map[string][]string{infrav1.MachineTypeLabel: {"controlplane-c"}}
	of.Cluster.Spec.LoadBalancerConfig.IPAMType = infrav1.POOL
	of.Cluster.Spec.LoadBalancerConfig.Description = "new"
	want := lb.DeepCopy()
	want.Spec.Description = "new"
	g.Expect(loadbalancer.Change(lb, loadbalancer.Wanted(of, 0, "other"), of)).To(BeTrue())
	g.Expect(lb).To(Equal(want))
	g.Expect(loadbalancer.Change(lb, loadbalancer.Wanted(of, 0, "other"), of)).To(BeFalse())
}

func TestCondition(t *testing.T) {
	t.Parallel()
	ready := func(status corev1.ConditionStatus, message string) []lbv1.Condition {
		return []lbv1.Condition{{Type: lbv1.ReadyCondition, Status: status, Message: message}}
	}
	for name, tc := range map[string]struct {
		lb       lbv1.LoadBalancerStatus
		service  *corev1.Service
		endpoint string
		pool     *lbv1.IPPool
		reason   string
		message  string
	}{
		"not processed yet": {reason: infrav1.WaitingForLoadBalancerAddressReason, message: "Deployment harvester-load-balancer"},
		"no lease":          {lb: lbv1.LoadBalancerStatus{Conditions: ready("False", "service is waiting for external IP")}, reason: infrav1.WaitingForLoadBalancerAddressReason, message: "service is waiting for external IP"},
		"pool exhausted": {
			lb: lbv1.LoadBalancerStatus{Conditions: ready("False", "no available IP")}, pool: &lbv1.IPPool{Status: lbv1.IPPoolStatus{Total: 3}},
			reason: infrav1.VMIPPoolExhaustedReason, message: "add a range",
		},
		"an unspecified address": {lb: lbv1.LoadBalancerStatus{Address: "0.0.0.0"}, reason: infrav1.WaitingForLoadBalancerAddressReason},
		"announced, but not noted": {
			service: &corev1.Service{Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}}}},
			reason:  infrav1.LoadBalancerNoBackendMachineReason,
		},
		"another address than before": {lb: lbv1.LoadBalancerStatus{Address: "10.0.0.2"}, endpoint: "10.0.0.1", reason: infrav1.LoadBalancerAddressChangedReason, message: "cannot change"},
		"a name for it":               {lb: lbv1.LoadBalancerStatus{Address: "10.0.0.2"}, endpoint: "api.example.com", reason: infrav1.LoadBalancerNoBackendMachineReason},
		"no backend is healthy": {
			lb:     lbv1.LoadBalancerStatus{Address: "10.0.0.1", BackendServers: []string{"10.0.0.9"}, Conditions: ready("False", "healthy:0")},
			reason: infrav1.LoadBalancerHealthcheckFailedReason, message: "healthy:0",
		},
		"all is well": {
			lb:     lbv1.LoadBalancerStatus{Address: "10.0.0.1", BackendServers: []string{"10.0.0.9"}, Conditions: ready("True", "")},
			reason: infrav1.LoadBalancerReadyReason,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			condition := loadbalancer.Condition(infrav1.APIEndpoint{Host: tc.endpoint, Port: 6443}, &lbv1.LoadBalancer{Status: tc.lb}, tc.service, tc.pool)
			g.Expect(condition.Reason).To(Equal(tc.reason), condition.Message)
			g.Expect(condition.Message).To(ContainSubstring(tc.message))
		})
	}
}
