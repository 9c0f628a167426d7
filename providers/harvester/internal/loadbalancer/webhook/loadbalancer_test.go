// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1alpha1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	networkv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

var web = []lbv1.Listener{{Name: "web", Port: 80, Protocol: "TCP", BackendPort: 8080}}

// newCluster returns the load balancer of a guest cluster.
func newCluster(namespace, name string, annotations map[string]string) *lbv1.LoadBalancer {
	return &lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations},
		Spec:       lbv1.LoadBalancerSpec{WorkloadType: lbv1.WorkloadCluster},
	}
}

// newMachine returns a machine with labels on a network.
func newMachine(namespace, name, network, address string, labels map[string]string) *kubevirtv1.VirtualMachineInstance {
	machine := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	machine.Spec.Networks = []kubevirtv1.Network{
		{Name: "pods", NetworkSource: kubevirtv1.NetworkSource{Pod: &kubevirtv1.PodNetwork{}}},
		{Name: "net", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: network}}},
	}
	machine.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{{IP: address, IPs: []string{address}}}
	return machine
}

// testPlace expects annotations with the location of a load balancer, for the selection of a pool.
func testPlace(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	tenant := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant", Annotations: map[string]string{projectAnnotation: "c-1:p-2"}}}
	g.Expect(api.Create(ctx, tenant)).To(Succeed())
	for _, machine := range []*kubevirtv1.VirtualMachineInstance{
		newMachine("tenant", "labelled", "tenant/vlan-1", "10.9.0.1", map[string]string{lbv1.MachineClusterLabel: "one"}),
		newMachine("tenant", "two-pool1", "tenant/vlan-2", "10.9.0.2", map[string]string{infrav1.CreatorLabel: lbv1.RancherCreator}),
		newMachine("tenant", "another-cluster-1", "tenant/vlan-4", "10.9.0.4", map[string]string{infrav1.CreatorLabel: lbv1.RancherCreator}),
		newMachine("tenant", "labelled-pool1", "tenant/vlan-5", "10.9.0.5", map[string]string{infrav1.CreatorLabel: lbv1.RancherCreator, lbv1.MachineClusterLabel: "labelled-pool1"}),
		newMachine("tenant", "three-pool1", "tenant/vlan-3", "10.9.0.3", nil),
	} {
		g.Expect(api.Create(ctx, machine)).To(Succeed())
	}
	for name, tc := range map[string]struct{ given, want map[string]string }{
		"by-label":   {map[string]string{lbv1.ClusterAnnotation: "one"}, map[string]string{lbv1.NetworkAnnotation: "tenant/vlan-1"}},
		"by-name":    {map[string]string{lbv1.ClusterAnnotation: "two"}, map[string]string{lbv1.NetworkAnnotation: "tenant/vlan-2"}},
		"by-a-part":  {map[string]string{lbv1.ClusterAnnotation: "another-c"}, nil},
		"by-another": {map[string]string{lbv1.ClusterAnnotation: "labelled"}, nil},
		"by-nothing": {map[string]string{lbv1.ClusterAnnotation: "three"}, nil},
		"unnamed":    {nil, nil},
		"given":      {map[string]string{lbv1.ClusterAnnotation: "one", lbv1.NetworkAnnotation: "a/b", lbv1.ManagementNetworkAnnotation: "c/d"}, nil},
		"managed":    {map[string]string{lbv1.ClusterAnnotation: "one", lbv1.ManagementNetworkAnnotation: "c/d"}, map[string]string{lbv1.NetworkAnnotation: "c/d"}},
		"of-others":  {map[string]string{lbv1.ProjectAnnotation: "c-1/p-9", lbv1.NamespaceAnnotation: "default"}, nil},
	} {
		lb := newCluster("tenant", name, tc.given)
		g.Expect(api.Create(ctx, lb)).To(Succeed(), name)
		want := map[string]string{lbv1.NamespaceAnnotation: "tenant", lbv1.ProjectAnnotation: "c-1/p-2"}
		for _, given := range []map[string]string{tc.given, tc.want} {
			for key, value := range given {
				if _, fact := want[key]; !fact {
					want[key] = value
				}
			}
		}
		g.Expect(lb.Annotations).To(Equal(want), name)
		lb.Annotations = nil
		g.Expect(api.Update(ctx, lb)).To(Succeed(), name)
		g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.ProjectAnnotation, "c-1/p-2"), name)
		g.Expect(api.Delete(ctx, lb)).To(Succeed())
	}
}

// testProject expects a load balancer of either kind to have the project of its namespace, whatever the client has set, or none if the
// namespace has none.
func testProject(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	in := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "in-project", Annotations: map[string]string{projectAnnotation: "local:p-2"}}}
	out := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "in-none"}}
	g.Expect(api.Create(ctx, in)).To(Succeed())
	g.Expect(api.Create(ctx, out)).To(Succeed())
	for _, workload := range []lbv1.WorkloadType{"", lbv1.WorkloadVM, lbv1.WorkloadCluster} {
		make := func(namespace, project string) *lbv1.LoadBalancer {
			lb := newCluster(namespace, "of-project", map[string]string{lbv1.ProjectAnnotation: project})
			if lb.Spec.WorkloadType = workload; workload != lbv1.WorkloadCluster {
				lb.Spec.Listeners = web
			}
			g.Expect(api.Create(ctx, lb)).To(Succeed())
			return lb
		}
		for given, want := range map[string]string{"": "local/p-2", "local/p-9": "local/p-2", "*": "local/p-2", "local:p-2": "local:p-2", "local/p-2": "local/p-2"} {
			lb := make(in.Name, given)
			g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.ProjectAnnotation, want), "%q with project %q", workload, given)
			g.Expect(api.Delete(ctx, lb)).To(Succeed())
		}
		lb := make(out.Name, "local/p-2")
		g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.ProjectAnnotation), "%q", workload)
		out.Annotations = map[string]string{projectAnnotation: "local:p-3"}
		g.Expect(api.Update(ctx, out)).To(Succeed())
		lb.Spec.Description = "waits for its address"
		g.Expect(api.Update(ctx, lb)).To(Succeed())
		g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.ProjectAnnotation, "local/p-3"), "%q, whose namespace came into a project", workload)
		g.Expect(api.Delete(ctx, lb)).To(Succeed())
		out.Annotations = nil
		g.Expect(api.Update(ctx, out)).To(Succeed())
	}
}

// testVLAN expects the load balancer of a guest cluster to have the VLAN of its network while that affects the selection of a pool.
func testVLAN(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	network(t, api, "of-vlan-100", map[string]string{networkv1.VLANLabel: "100"}, "")
	network(t, api, "unreadable", nil, `{"vlan":"eight"}`)
	for name, want := range map[string]string{"default/of-vlan-100": "100", "of-vlan-100": "100", "default/unreadable": "", "default/none": "", "": ""} {
		lb := newCluster("default", "in-vlan", map[string]string{lbv1.NetworkAnnotation: name})
		lb.Labels = map[string]string{lbv1.VLANLabel: "7"}
		g.Expect(api.Create(ctx, lb)).To(Succeed(), name)
		g.Expect(lb.Labels[lbv1.VLANLabel]).To(Equal(want), name)
		g.Expect(api.Delete(ctx, lb)).To(Succeed())
	}
}

// testLoadBalancerRules expects validation, defaults for zero values of a health check, and the status to be written with the object.
func testLoadBalancerRules(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	lb := &lbv1.LoadBalancer{ObjectMeta: rulestest.Named("rules"), Spec: lbv1.LoadBalancerSpec{
		Listeners: web, HealthCheck: &lbv1.HealthCheck{Port: 8080, FailureThreshold: 5}, IPAM: lbv1.IPAMDHCP, IPPool: "pool",
	}}
	for want, change := range map[string]func(*lbv1.LoadBalancerSpec){
		"spec.listeners: Required value":                func(s *lbv1.LoadBalancerSpec) { s.Listeners, s.HealthCheck = nil, nil },
		"spec.listeners[0].port: Invalid value":         func(s *lbv1.LoadBalancerSpec) { s.Listeners[0].Port = 65536 },
		"spec.healthCheck.port: Invalid value":          func(s *lbv1.LoadBalancerSpec) { s.HealthCheck.Port = 80 },
		"spec.workloadType: Unsupported value":          func(s *lbv1.LoadBalancerSpec) { s.WorkloadType = "inner" },
		"spec.ipam: Unsupported value":                  func(s *lbv1.LoadBalancerSpec) { s.IPAM = "DHCP" },
		"spec.ipPool: Invalid value":                    func(s *lbv1.LoadBalancerSpec) { s.IPAM, s.IPPool = lbv1.IPAMPool, "default/pool-1" },
		"spec.listeners[0].protocol: Unsupported value": func(s *lbv1.LoadBalancerSpec) { s.Listeners[0].Protocol, s.HealthCheck = "HTTP", nil },
	} {
		broken := lb.DeepCopy()
		change(&broken.Spec)
		rulestest.Rejected(g, api.Create(ctx, broken), want)
	}
	api.Warnings()
	g.Expect(api.Create(ctx, lb)).To(Succeed())
	g.Expect(api.Warnings()).To(ConsistOf(HavePrefix("spec.ipPool: is ignored"), HavePrefix("spec.backendServerSelector: is empty")))
	g.Expect(lb.Spec.HealthCheck).To(HaveValue(Equal(lbv1.HealthCheck{Port: 8080, SuccessThreshold: 2, FailureThreshold: 5, PeriodSeconds: 1, TimeoutSeconds: 1})))
	lb.Status = lbv1.LoadBalancerStatus{Address: "10.0.0.5", AllocatedAddress: lbv1.AllocatedAddress{IP: "0.0.0.0"}, Conditions: []lbv1.Condition{{Type: "Ready", Status: "True"}}}
	want := lb.Status
	g.Expect(api.Update(ctx, lb)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(lb), lb)).To(Succeed())
	g.Expect(lb.Status).To(Equal(want), "a plain update writes the status")
	changed := lb.DeepCopy()
	changed.Spec.IPAM, changed.Spec.WorkloadType = lbv1.IPAMPool, lbv1.WorkloadCluster
	rulestest.Rejected(g, api.Update(ctx, changed), "spec.ipam: Forbidden", "spec.workloadType: Forbidden")
	g.Expect(api.Delete(ctx, lb)).To(Succeed())
}

// testNewStatus expects an unconfirmed address to be removed from the status of a new load balancer: clients write the status with the
// object.
func testNewStatus(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	forged := lbv1.LoadBalancerStatus{
		Address: "10.7.0.9", AllocatedAddress: lbv1.AllocatedAddress{IPPool: "theirs", IP: "10.7.0.9"}, BackendServers: []string{"10.7.0.1"},
		Conditions: []lbv1.Condition{{Type: lbv1.ReadyCondition, Status: corev1.ConditionTrue}},
	}
	lb := &lbv1.LoadBalancer{ObjectMeta: rulestest.Named("forged"), Spec: lbv1.LoadBalancerSpec{Listeners: web}, Status: forged}
	g.Expect(api.Create(ctx, lb)).To(Succeed())
	g.Expect(lb.Status).To(Equal(lbv1.LoadBalancerStatus{}))
	g.Expect(api.Delete(ctx, lb)).To(Succeed())

	guests := newCluster("default", "forged", nil)
	guests.Status = forged
	g.Expect(api.Create(ctx, guests)).To(Succeed())
	g.Expect(guests.Status).To(Equal(lbv1.LoadBalancerStatus{Address: "10.7.0.9"}), "where a guest cluster announces its Service")
	g.Expect(api.Delete(ctx, guests)).To(Succeed())

	older := func() *v1alpha1.LoadBalancer {
		return &v1alpha1.LoadBalancer{
			ObjectMeta: rulestest.Named("forged"),
			Spec:       v1alpha1.LoadBalancerSpec{IPAM: lbv1.IPAMPool, Listeners: []v1alpha1.Listener{{Name: "web", Port: 80, Protocol: "TCP", BackendPort: 8080}}},
			Status:     v1alpha1.LoadBalancerStatus{Address: "10.7.0.9"},
		}
	}
	first := older()
	g.Expect(api.Create(ctx, first)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(first), lb)).To(Succeed())
	g.Expect(lb.Status.AllocatedAddress).To(Equal(lbv1.AllocatedAddress{}))
	g.Expect(api.Delete(ctx, first)).To(Succeed())

	service := &corev1.Service{ObjectMeta: rulestest.Named("forged"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}}
	g.Expect(api.Create(ctx, service)).To(Succeed())
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.7.0.9"}}
	g.Expect(api.Status().Update(ctx, service)).To(Succeed())
	second := older()
	g.Expect(api.Create(ctx, second)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(second), lb)).To(Succeed())
	g.Expect(lb.Status.AllocatedAddress).To(Equal(lbv1.AllocatedAddress{IP: "10.7.0.9"}), "its Service has it")
	g.Expect(api.Delete(ctx, second)).To(Succeed())
	g.Expect(api.Delete(ctx, service)).To(Succeed())
}

// testSingleValues expects a single value to be accepted in place of a list, whatever else is wrong or missing.
func testSingleValues(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	lb := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": lbv1.GroupVersion.String(), "kind": "LoadBalancer", "metadata": map[string]any{"namespace": "default", "name": "single"},
		"spec": map[string]any{
			"listeners":             []any{map[string]any{"port": int64(80), "protocol": "TCP", "backendPort": int64(80)}},
			"backendServerSelector": map[string]any{"example.com/a~b": "one", "app": []any{"x", "y"}},
		},
	}}
	g.Expect(api.Create(ctx, lb)).To(Succeed())
	typed := &lbv1.LoadBalancer{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(lb), typed)).To(Succeed())
	g.Expect(typed.Spec.BackendServerSelector).To(Equal(map[string][]string{"example.com/a~b": {"one"}, "app": {"x", "y"}}))
	g.Expect(unstructured.SetNestedField(lb.Object, "two", "spec", "backendServerSelector", "app")).To(Succeed())
	g.Expect(api.Update(ctx, lb)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(lb), typed)).To(Succeed())
	g.Expect(typed.Spec.BackendServerSelector).To(HaveKeyWithValue("app", []string{"two"}))
	applied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": lb.GetAPIVersion(), "kind": lb.GetKind(), "metadata": map[string]any{"namespace": "default", "name": "single"},
		"spec": map[string]any{"backendServerSelector": map[string]any{"app": "three"}},
	}}
	g.Expect(api.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("gitops"), client.ForceOwnership)).
		To(MatchError(ContainSubstring("expected list")), "server-side apply asks the schema first")
	g.Expect(unstructured.SetNestedField(lb.Object, int64(2), "spec", "backendServerSelector", "app")).To(Succeed())
	g.Expect(api.Update(ctx, lb)).To(MatchError(ContainSubstring("backendServerSelector")))
	g.Expect(api.Delete(ctx, lb)).To(Succeed())
}

// versions is a load balancer in both versions.
type versions struct {
	*WithT
	t     *testing.T
	api   *rulestest.APIServer
	key   client.ObjectKey
	newer *lbv1.LoadBalancer
	older *v1alpha1.LoadBalancer
}

// read reads both versions into new objects, because a client decodes into existing fields.
func (v *versions) read() {
	v.t.Helper()
	v.newer, v.older = &lbv1.LoadBalancer{}, &v1alpha1.LoadBalancer{}
	v.Expect(v.api.Get(v.t.Context(), v.key, v.newer)).To(Succeed())
	v.Expect(v.api.Get(v.t.Context(), v.key, v.older)).To(Succeed())
}

// testOlderClient creates, reads and changes a load balancer with a client of v1alpha1.
func testOlderClient(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	for name, address := range map[string]string{"vm1": "10.8.0.1", "vm2": "10.8.0.2", "vm3": "10.8.0.3"} {
		machine := newMachine("default", name, "default/vlan1", address, map[string]string{infrav1.VMNameLabel: name})
		g.Expect(api.Create(ctx, machine)).To(Succeed())
		defer func() { g.Expect(api.Delete(ctx, machine)).To(Succeed()) }()
	}
	older := &v1alpha1.LoadBalancer{ObjectMeta: rulestest.Named("old"), Spec: v1alpha1.LoadBalancerSpec{
		IPAM: lbv1.IPAMPool, BackendServers: []string{"10.8.0.1", "10.8.0.2"},
		Listeners:   []v1alpha1.Listener{{Name: "web", Port: 80, Protocol: "TCP", BackendPort: 8080}},
		HealthCheck: &v1alpha1.HealthCheck{Port: 8080, SuccessThreshold: 1, FailureThreshold: 1, PeriodSeconds: 7, TimeoutSeconds: 1},
	}}
	g.Expect(api.Create(ctx, older)).To(Succeed())
	v := &versions{WithT: g, t: t, api: api, key: client.ObjectKeyFromObject(older)}
	v.read()
	g.Expect(v.newer.Spec.BackendServerSelector).To(Equal(map[string][]string{infrav1.VMNameLabel: {"vm1", "vm2"}}))
	g.Expect(v.newer.Spec.HealthCheck.PeriodSeconds).To(BeEquivalentTo(7))
	g.Expect(v.older.Spec.HealthCheck.PeriodSeconds).To(BeEquivalentTo(7))
	g.Expect(v.newer.Annotations).NotTo(HaveKey(lbv1.BackendServersAnnotation))
	changeInBothVersions(v)
	g.Expect(api.Delete(ctx, v.older)).To(Succeed())
}

// changeInBothVersions expects fields that exist only in one version to be kept.
func changeInBothVersions(v *versions) {
	v.t.Helper()
	ctx := v.t.Context()
	v.newer.Spec.WorkloadType, v.newer.Spec.IPPool, v.newer.Spec.HealthCheck.PeriodSeconds = lbv1.WorkloadVM, "pool", 9
	v.newer.Status.AllocatedAddress = lbv1.AllocatedAddress{IPPool: "pool", IP: "10.0.0.5", Mask: "255.255.255.0"}
	v.Expect(v.api.Update(ctx, v.newer)).To(Succeed())
	v.read()
	v.Expect(v.older.Spec.HealthCheck.PeriodSeconds).To(BeEquivalentTo(9))
	v.Expect(v.older.Spec.BackendServers).To(Equal([]string{"10.8.0.1", "10.8.0.2"}))
	v.older.Status.Address, v.older.Spec.HealthCheck.PeriodSeconds = "10.0.0.5", 11
	v.Expect(v.api.Update(ctx, v.older)).To(Succeed())
	was := v.newer.DeepCopy()
	v.read()
	was.Spec.HealthCheck.PeriodSeconds, was.Status.Address = 11, "10.0.0.5"
	v.Expect(v.newer.Spec).To(Equal(was.Spec))
	v.Expect(v.newer.Status).To(Equal(was.Status))

	v.older.Annotations, v.older.Spec.BackendServers = nil, []string{"10.8.0.3", "10.8.0.4"}
	v.Expect(v.api.Update(ctx, v.older)).To(Succeed())
	v.read()
	v.Expect(v.newer.Spec.IPPool).To(Equal("pool"), "what the client cannot say is what it was")
	v.Expect(v.newer.Status.AllocatedAddress).To(Equal(was.Status.AllocatedAddress))
	v.Expect(v.newer.Spec.BackendServerSelector).To(Equal(map[string][]string{infrav1.VMNameLabel: {"vm3"}}))
	v.Expect(v.newer.Annotations).To(HaveKeyWithValue(lbv1.BackendServersAnnotation, `["10.8.0.4"]`))
	v.Expect(v.older.Spec.BackendServers).To(Equal([]string{"10.8.0.3", "10.8.0.4"}))
	v.older.Spec.IPAM = lbv1.IPAMDHCP
	rulestest.Rejected(v, v.api.Update(ctx, v.older), "spec.ipam: Forbidden")
}
