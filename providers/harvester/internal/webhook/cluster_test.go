// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// validCluster returns a valid cluster with every field that the rules check.
func validCluster() infrav1.HarvesterClusterSpec {
	return infrav1.HarvesterClusterSpec{
		Server:         "https://10.20.0.5:6443",
		IdentitySecret: infrav1.SecretKey{Namespace: "default", Name: "harvester"},
		LoadBalancerConfig: infrav1.LoadBalancerConfig{
			IPAMType: infrav1.POOL,
			IPPool: infrav1.IPPool{
				VMNetwork: "default/vlan1", Subnet: "172.17.1.0/24", Gateway: "172.17.1.1", RangeStart: "172.17.1.10", RangeEnd: "172.17.1.20",
			},
			Listeners: []infrav1.Listener{
				{Name: "rke2", Port: 9345, Protocol: "TCP", BackendPort: 9345}, {Name: "dns", Port: 6443, Protocol: "UDP", BackendPort: 53},
			},
		},
		TargetNamespace: "workloads",
		VMNetworkConfig: &infrav1.VMNetworkConfig{
			IPPoolRefs: []string{"pool-a", "pool-b"}, Gateway: "10.20.0.1", SubnetMask: "255.255.0.0", DNSServers: []string{"10.20.0.53"}, DNSSearch: []string{"example.com"},
		},
		FailureDomains: []infrav1.HarvesterFailureDomain{
			{Name: "zone-a"},
			{
				Name: "rack-17", TopologyKey: "example.com/rack", TopologyValue: "17", Networks: []string{"default/vlan17", "vlan18"}, StorageClass: "fast",
				VMNetworkConfig: &infrav1.VMNetworkConfig{IPPoolRef: "pool-17", Gateway: "10.17.0.1", SubnetMask: "255.255.255.0"},
			},
		},
		Distribution: faultlinev1.Distribution{FailureDomains: []faultlinev1.FailureDomainIntent{{Name: "zone-a", State: faultlinev1.DomainCordoned}}},
	}
}

func TestValidateCluster(t *testing.T) {
	type spec = infrav1.HarvesterClusterSpec
	testRules(t, validCluster, validateCluster, []ruleCase[spec]{
		{"nothing at all", func(s *spec) { *s = spec{} }, nil},
		{"target namespace that cannot be", func(s *spec) { s.TargetNamespace = "a.b" }, []string{"spec.targetNamespace: Invalid value"}},

		{"pool with DHCP", func(s *spec) { s.LoadBalancerConfig.IPAMType, s.LoadBalancerConfig.IPPoolRef = infrav1.DHCP, "a" },
			[]string{"spec.loadBalancerConfig.ipPool: Forbidden", "spec.loadBalancerConfig.ipPoolRef: Forbidden"}},
		{"no pool is named", func(s *spec) { s.LoadBalancerConfig.IPPool = infrav1.IPPool{} }, nil},
		{"pool without a network", func(s *spec) { s.LoadBalancerConfig.IPPool.VMNetwork = "" }, []string{"spec.loadBalancerConfig.ipPool.vmNetwork: Invalid value"}},
		{"pool of no subnet", func(s *spec) { s.LoadBalancerConfig.IPPool.Subnet = "172.17.1.0" }, []string{"spec.loadBalancerConfig.ipPool.subnet: Invalid value"}},
		{"gateway of another subnet", func(s *spec) { s.LoadBalancerConfig.IPPool.Gateway = "172.18.1.1" }, []string{"spec.loadBalancerConfig.ipPool.gateway: Invalid value"}},
		{"range of another subnet", func(s *spec) { s.LoadBalancerConfig.IPPool.RangeEnd = "172.18.1.1" }, []string{"spec.loadBalancerConfig.ipPool.rangeEnd: Invalid value"}},
		{"range that ends before it starts", func(s *spec) { s.LoadBalancerConfig.IPPool.RangeEnd = "172.17.1.5" },
			[]string{"spec.loadBalancerConfig.ipPool.rangeEnd: Invalid value"}},
		{"whole subnet", func(s *spec) { s.LoadBalancerConfig.IPPool.RangeStart, s.LoadBalancerConfig.IPPool.RangeEnd = "", "" }, nil},
		{"listener that cannot be a port's name", func(s *spec) { s.LoadBalancerConfig.Listeners[0].Name = "RKE2" },
			[]string{"spec.loadBalancerConfig.listeners[0].name: Invalid value"}},
		{"two listeners of one name", func(s *spec) { s.LoadBalancerConfig.Listeners[1].Name = "rke2" },
			[]string{"spec.loadBalancerConfig.listeners[1].name: Duplicate value"}},
		{"two listeners on one port", func(s *spec) {
			s.LoadBalancerConfig.Listeners[1].Port, s.LoadBalancerConfig.Listeners[1].Protocol = 9345, "TCP"
		},
			[]string{"spec.loadBalancerConfig.listeners[1].port: Duplicate value"}},
		{"listener of the API server", func(s *spec) {
			s.LoadBalancerConfig.Listeners[0] = infrav1.Listener{Name: "api-server", Port: 6443, Protocol: "TCP", BackendPort: 6443}
		}, nil},
		{"listener that is called like the API server's", func(s *spec) { s.LoadBalancerConfig.Listeners[0].Name = "api-server" },
			[]string{"spec.loadBalancerConfig.listeners[0].name: Invalid value"}},
		{"ports that are none", func(s *spec) {
			s.LoadBalancerConfig.Listeners[0].Port, s.LoadBalancerConfig.Listeners[0].BackendPort = 0, 65536
		},
			[]string{"spec.loadBalancerConfig.listeners[0].port: Invalid value", "spec.loadBalancerConfig.listeners[0].backendPort: Invalid value"}},
	})
}

func TestValidateAddressesAndDomains(t *testing.T) {
	type spec = infrav1.HarvesterClusterSpec
	testRules(t, validCluster, validateCluster, []ruleCase[spec]{
		{"addresses from nowhere", func(s *spec) { s.VMNetworkConfig.IPPoolRefs = nil }, []string{"spec.vmNetworkConfig.ipPoolRefs: Required value"}},
		{"pool without a name", func(s *spec) { s.VMNetworkConfig.IPPoolRefs[1] = "" }, []string{"spec.vmNetworkConfig.ipPoolRefs[1]: Required value"}},
		{"ipPool and existing pools", func(s *spec) { s.VMNetworkConfig.IPPool = &s.LoadBalancerConfig.IPPool },
			[]string{"spec.vmNetworkConfig.ipPool: Forbidden"}},
		{"ipPool", func(s *spec) {
			s.VMNetworkConfig.IPPoolRefs, s.VMNetworkConfig.IPPool = nil, &s.LoadBalancerConfig.IPPool
		}, nil},
		{"invalid gateway", func(s *spec) { s.VMNetworkConfig.Gateway = "10.20.0.256" }, []string{"spec.vmNetworkConfig.gateway: Invalid value"}},
		{"length of a prefix for a mask", func(s *spec) { s.VMNetworkConfig.SubnetMask = "24" }, []string{"spec.vmNetworkConfig.subnetMask: Invalid value"}},
		{"mask with a hole", func(s *spec) { s.VMNetworkConfig.SubnetMask = "255.0.255.0" }, []string{"spec.vmNetworkConfig.subnetMask: Invalid value"}},
		{"DNS server by name", func(s *spec) { s.VMNetworkConfig.DNSServers[0] = "dns" }, []string{"spec.vmNetworkConfig.dnsServers[0]: Invalid value"}},
		{"invalid search domain", func(s *spec) { s.VMNetworkConfig.DNSSearch[0] = "a b" }, []string{"spec.vmNetworkConfig.dnsSearch[0]: Invalid value"}},

		{"label that cannot be, for finding domains", func(s *spec) { s.FailureDomainTopologyKey = "a b" }, []string{"spec.failureDomainTopologyKey: Invalid value"}},
		{"domain that no label can name", func(s *spec) { s.FailureDomains[1].Name = "rack 17" }, []string{"spec.failureDomains[1].name: Invalid value"}},
		{"label of a domain that cannot be", func(s *spec) { s.FailureDomains[1].TopologyKey = "a b" }, []string{"spec.failureDomains[1].topologyKey: Invalid value"}},
		{"value of a domain that cannot be", func(s *spec) { s.FailureDomains[1].TopologyValue = "a b" }, []string{"spec.failureDomains[1].topologyValue: Invalid value"}},
		{"two domains of the same hosts", func(s *spec) { s.FailureDomains[1].TopologyKey, s.FailureDomains[1].TopologyValue = "", "zone-a" },
			[]string{"spec.failureDomains[1].topologyValue: Invalid value"}},
		{"network of a domain that cannot be", func(s *spec) { s.FailureDomains[1].Networks[0] = "a/b/c" }, []string{"spec.failureDomains[1].networks[0]: Invalid value"}},
		{"ipPool of a domain", func(s *spec) { s.FailureDomains[1].VMNetworkConfig.IPPool = &infrav1.IPPool{} },
			[]string{"spec.failureDomains[1].vmNetworkConfig.ipPool: Forbidden"}},
		{"invalid gateway of a domain", func(s *spec) { s.FailureDomains[1].VMNetworkConfig.Gateway = "" },
			[]string{"spec.failureDomains[1].vmNetworkConfig.gateway: Invalid value"}},
		{"intent for a name that cannot be", func(s *spec) { s.Distribution.FailureDomains[0].Name = "zone a" },
			[]string{"spec.distribution.failureDomains[0].name: Invalid value"}},
		{"label that no domain has, for workers", func(s *spec) { s.Distribution.Workers.TopologyKey = "example.com/room" },
			[]string{"spec.distribution.workers.topologyKey: Invalid value"}},
		{"label of a domain for workers", func(s *spec) { s.Distribution.Workers.TopologyKey = "example.com/rack" }, nil},
		{"single hosts for workers", func(s *spec) { s.Distribution.Workers.TopologyKey = "kubernetes.io/hostname" }, nil},
	})
}

func TestRequireCluster(t *testing.T) {
	g := NewWithT(t)
	path := field.NewPath("spec")
	g.Expect(requireCluster(validCluster(), path)).To(BeEmpty())
	g.Expect(rulestest.Summary(requireCluster(infrav1.HarvesterClusterSpec{}, path))).To(ConsistOf(
		"spec.identitySecret.name: Required value", "spec.identitySecret.namespace: Required value", "spec.targetNamespace: Required value"))
}

func TestPoolMustHaveOneName(t *testing.T) {
	g := NewWithT(t)
	cluster := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("Demo"), Spec: validCluster()}
	g.Expect(validateClusterObject(cluster)).To(BeEmpty())
	cluster.Spec.LoadBalancerConfig.IPPoolRef = "other"
	g.Expect(rulestest.Summary(validateClusterObject(cluster))).To(ConsistOf("spec.loadBalancerConfig.ipPoolRef: Forbidden"))
	cluster.Spec.LoadBalancerConfig.IPPoolRef = "default-demo-ippool"
	g.Expect(validateClusterObject(cluster)).To(BeEmpty(), "older versions have recorded the pool that they made")
}

func TestValidateClusterChange(t *testing.T) {
	type cluster = infrav1.HarvesterCluster
	known := infrav1.APIEndpoint{Host: "172.17.1.10", Port: 6443}
	for name, tc := range map[string]struct {
		endpoint infrav1.APIEndpoint
		change   func(*cluster)
		want     []string
	}{
		"another target namespace":   {infrav1.APIEndpoint{}, func(c *cluster) { c.Spec.TargetNamespace = "other" }, []string{"spec.targetNamespace: Forbidden"}},
		"the endpoint becomes known": {infrav1.APIEndpoint{}, func(c *cluster) { c.Spec.ControlPlaneEndpoint = known }, nil},
		"it was none yet":            {infrav1.APIEndpoint{Host: "0.0.0.0", Port: 6443}, func(c *cluster) { c.Spec.ControlPlaneEndpoint = known }, nil},
		"another endpoint":           {known, func(c *cluster) { c.Spec.ControlPlaneEndpoint.Host = "172.17.1.11" }, []string{"spec.controlPlaneEndpoint: Forbidden"}},
		"no endpoint":                {known, func(c *cluster) { c.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{} }, []string{"spec.controlPlaneEndpoint: Forbidden"}},
		"another pool before the endpoint is known": {infrav1.APIEndpoint{}, func(c *cluster) {
			c.Spec.LoadBalancerConfig.IPPool, c.Spec.LoadBalancerConfig.IPPoolRef = infrav1.IPPool{}, "other"
		}, nil},
		"another pool":                       {known, func(c *cluster) { c.Spec.LoadBalancerConfig.IPPoolRef = "other" }, []string{"spec.loadBalancerConfig.ipPoolRef: Forbidden"}},
		"the name of the pool that was made": {known, func(c *cluster) { c.Spec.LoadBalancerConfig.IPPoolRef = "default-demo-ippool" }, nil},
		"DHCP":                               {known, func(c *cluster) { c.Spec.LoadBalancerConfig.IPAMType = infrav1.DHCP }, []string{"spec.loadBalancerConfig.ipamType: Forbidden"}},
		"another listener":                   {known, func(c *cluster) { c.Spec.LoadBalancerConfig.Listeners = nil }, nil},
		"another Secret and server":          {known, func(c *cluster) { c.Spec.IdentitySecret.Name, c.Spec.Server = "rotated", "https://10.20.0.6:6443" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := &cluster{ObjectMeta: rulestest.Named("demo"), Spec: validCluster()}
			before.Spec.ControlPlaneEndpoint = tc.endpoint
			after := before.DeepCopy()
			tc.change(after)
			errs := validateClusterChange(before, after)
			g.Expect(rulestest.Summary(errs)).To(ConsistOf(tc.want))
			for _, err := range errs {
				g.Expect(err.Detail).To(ContainSubstring("create another cluster"))
			}
		})
	}
}

func TestWarnCluster(t *testing.T) {
	cluster := func() *infrav1.HarvesterCluster {
		return &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("demo"), Spec: validCluster()}
	}
	NewWithT(t).Expect(warnClusterObject(cluster())).To(BeEmpty())
	type spec = infrav1.HarvesterClusterSpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   string
	}{
		"no endpoint":                     {func(s *spec) { s.LoadBalancerConfig = infrav1.LoadBalancerConfig{} }, "spec.controlPlaneEndpoint.host: "},
		"Harvester chooses the pool":      {func(s *spec) { s.LoadBalancerConfig.IPPool = infrav1.IPPool{} }, "spec.loadBalancerConfig.ipPoolRef: "},
		"pool with a namespace":           {func(s *spec) { s.VMNetworkConfig.IPPoolRefs[0] = "default/pool-a" }, "spec.vmNetworkConfig.ipPoolRefs[0]: "},
		"pools named twice":               {func(s *spec) { s.VMNetworkConfig.IPPoolRef = "pool-a" }, "spec.vmNetworkConfig.ipPoolRef: "},
		"domains are listed":              {func(s *spec) { s.FailureDomainTopologyKey = "example.com/row" }, "spec.failureDomainTopologyKey: "},
		"every host a domain":             {func(s *spec) { s.FailureDomains[1].TopologyKey = "kubernetes.io/hostname" }, "spec.failureDomains[1].topologyKey: "},
		"intent for an unknown domain":    {func(s *spec) { s.Distribution.FailureDomains[0].Name = "zone-z" }, "spec.distribution.failureDomains[0].name: "},
		"logical domains without workers": {func(s *spec) { s.Distribution.Workers.DesiredFailureDomains = ptr.To[int32](3) }, "spec.distribution.workers.desiredFailureDomains: "},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster()
			tc.change(&c.Spec)
			NewWithT(t).Expect(warnClusterObject(c)).To(ConsistOf(HavePrefix(tc.want)))
		})
	}
}

func TestWarnClusterChange(t *testing.T) {
	g := NewWithT(t)
	before := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("demo"), Spec: validCluster()}
	before.Spec.UpdateCloudProviderConfig.ManifestsConfigMapName = "manifests"
	after := before.DeepCopy()
	g.Expect(warnClusterChange(before, after)).To(BeEmpty())
	after.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{}
	g.Expect(warnClusterChange(before, after)).To(ConsistOf(HavePrefix("spec.updateCloudProviderConfig: ")))
	g.Expect(warnClusterChange(after, before)).To(BeEmpty())
}

func TestWarnClusterTemplateWithServer(t *testing.T) {
	g := NewWithT(t)
	path := field.NewPath("spec", "template", "spec")
	spec := validCluster()
	spec.Server = ""
	g.Expect(warnClusterTemplate(spec, path)).To(BeEmpty())
	spec.Server = "https://10.20.0.5:6443"
	g.Expect(warnClusterTemplate(spec, path)).To(ConsistOf(HavePrefix("spec.template.spec.server: ")))
}

func TestDefaultCluster(t *testing.T) {
	g := NewWithT(t)
	for host, want := range map[string]int32{"10.0.0.1": 6443, "": 0} {
		cluster := &infrav1.HarvesterCluster{Spec: infrav1.HarvesterClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: host}}}
		g.Expect(defaultCluster(t.Context(), cluster)).To(Succeed())
		g.Expect(cluster.Spec.ControlPlaneEndpoint).To(Equal(infrav1.APIEndpoint{Host: host, Port: want}))
	}
}

func TestRedefinedDomains(t *testing.T) {
	g := NewWithT(t)
	domain := func(name, key, value string) infrav1.HarvesterFailureDomain {
		return infrav1.HarvesterFailureDomain{Name: name, TopologyKey: key, TopologyValue: value}
	}
	lists := func(domains ...infrav1.HarvesterFailureDomain) *infrav1.HarvesterCluster {
		return &infrav1.HarvesterCluster{Spec: infrav1.HarvesterClusterSpec{FailureDomains: domains}}
	}
	before := lists(domain("b", "", ""), domain("a", "rack", "1"), domain("c", "", ""))
	after := lists(domain("d", "", ""), domain("a", "rack", "2"), domain("c", "topology.kubernetes.io/zone", "c"))
	all := []string{"a", "b", "c", "d", "e"}
	g.Expect(redefinedDomains(before, after, all)).To(Equal([]string{"a", "b"}))
	g.Expect(redefinedDomains(before, before, all)).To(BeEmpty())
	g.Expect(redefinedDomains(before, lists(), all)).To(Equal([]string{"a"}), "the others have the same hosts when they are found")
	g.Expect(redefinedDomains(lists(), before, all)).To(Equal([]string{"a", "d", "e"}), "b and c had the same hosts when they were found")
	g.Expect(redefines(before.Spec, before.Spec)).To(BeFalse())
	g.Expect(redefines(before.Spec, lists(append(before.Spec.FailureDomains, domain("d", "", ""))...).Spec)).To(BeFalse(), "one is added")
	g.Expect(redefines(lists().Spec, before.Spec)).To(BeTrue())
	g.Expect(redefines(lists().Spec, lists().Spec)).To(BeFalse())
}
