// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

const uid = "d4b50d98-39ec-4d88-8098-36579de5db4a"

func service(name string, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid + "-" + name), ResourceVersion: "7"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
		},
	}
	for _, each := range change {
		each(s)
	}
	return s
}

func annotated(pairs ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		for n := 0; n < len(pairs); n += 2 {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, pairs[n], pairs[n+1])
		}
	}
}

func ports(list ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = list }
}

func TestLoadBalancerName(t *testing.T) {
	g := NewWithT(t)
	for _, c := range []struct{ cluster, namespace, name, begins string }{
		{"test", "default", "abcd", "test-default-abcd-"},
		{"1test", "default", "abcd", "a1test-default-abcd-"},
		{"", "default", "abcd", "a-default-abcd-"},
		{"test", "default-default", "kube-system-rke2-ingress-nginx-controller", "test-default-default-kube-system-rke2-ingress-nginx-con"},
		{"1test", "default-default", "kube-system-rke2-ingress-nginx-controller", "a1test-default-default-kube-system-rke2-ingress-nginx-c"},
	} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.name, UID: uid}}
		name := Name(c.cluster, s)
		cluster := c.cluster
		if strings.HasPrefix(c.begins, "a") {
			cluster = "a" + cluster
		}
		sum := crc32.ChecksumIEEE([]byte(cluster + "-" + c.namespace + "-" + c.name + "-" + uid))
		g.Expect(name).To(Equal(c.begins + fmt.Sprintf("%08x", sum)))
		g.Expect(len(name)).To(BeNumerically("<=", 63))
	}
	g.Expect(Name("test", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "abcd", UID: uid}})).
		To(Equal("test-default-abcd-7198d990"), "the checksum covers the UID and has eight digits")
}

func TestWantedLoadBalancer(t *testing.T) {
	g := NewWithT(t)
	o := Options{Cluster: "blue", Network: "default/mgmt"}
	asks := service("web", annotated(networkAnnotation, "default/vlan-100", projectAnnotation, "c-1/p-2", namespaceAnnotation, "team"))
	lb := o.wanted(asks, o.neededParts(asks)[0], nil, "owner")
	g.Expect(lb.Name).To(Equal(Name("blue", asks)))
	g.Expect(lb.Spec).To(Equal(lbv1.LoadBalancerSpec{WorkloadType: lbv1.WorkloadCluster, IPAM: lbv1.IPAMPool}))
	g.Expect(lb.Labels).To(Equal(map[string]string{
		"cloudprovider.harvesterhci.io/cluster": "blue", "cloudprovider.harvesterhci.io/serviceNamespace": "default",
		"cloudprovider.harvesterhci.io/serviceName": "web",
	}))
	g.Expect(lb.Annotations).To(Equal(map[string]string{
		"loadbalancer.harvesterhci.io/cluster": "blue", "loadbalancer.harvesterhci.io/network": "default/vlan-100",
		"loadbalancer.harvesterhci.io/project":     "c-1/p-2",
		"cloudprovider.harvesterhci.io/lb-network": "default/vlan-100", "cloudprovider.harvesterhci.io/managementNetwork": "default/mgmt",
		"cloudprovider.harvesterhci.io/cluster-uid": "owner",
	}))

	plain := service("web", annotated(ipamAnnotation, "dhcp"))
	lb = o.wanted(plain, o.neededParts(plain)[0], nil, "owner")
	g.Expect(lb.Spec.IPAM).To(Equal(lbv1.IPAMDHCP))
	g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.NetworkAnnotation, "default/mgmt"))
	g.Expect(lb.Annotations).To(HaveKeyWithValue(askedAnnotation, ""))
}

func TestExistingLoadBalancerKeepsAddressSettings(t *testing.T) {
	g := NewWithT(t)
	o := Options{Cluster: "blue", Pools: map[corev1.IPFamily]string{corev1.IPv4Protocol: "other"}}
	had := &lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Name: "lb", Annotations: map[string]string{lbv1.NetworkAnnotation: "found/by-harvester", "else": "kept"}},
		Spec:       lbv1.LoadBalancerSpec{WorkloadType: lbv1.WorkloadCluster, IPAM: lbv1.IPAMPool, IPPool: "first"},
		Status:     lbv1.LoadBalancerStatus{AllocatedAddress: lbv1.AllocatedAddress{IP: "10.0.0.1"}},
	}
	reached := service("web", func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "web"}, {IP: "fd00::1"}, {IP: "10.0.0.1"}}
	})
	lb := o.wanted(reached, o.neededParts(reached)[0], had, "owner")
	g.Expect(lb.Spec).To(Equal(had.Spec))
	g.Expect(lb.Annotations).To(And(HaveKeyWithValue(lbv1.NetworkAnnotation, "found/by-harvester"), HaveKeyWithValue("else", "kept")))
	g.Expect(lb.Status.Address).To(Equal("10.0.0.1"))
	g.Expect(needsUpdate(had, lb)).To(BeTrue())
	g.Expect(needsUpdate(lb, o.wanted(reached, o.neededParts(reached)[0], lb, "owner"))).To(BeFalse(), "it needs no write")
	had.Status.AllocatedAddress.IP = ""
	g.Expect(o.wanted(reached, o.neededParts(reached)[0], had, "owner").Spec.IPPool).To(Equal("other"), "it has none yet")
	o.Pools = nil
	g.Expect(o.wanted(reached, o.neededParts(reached)[0], had, "owner").Spec.IPPool).To(Equal("first"), "no Service names another")
}

func TestDualStackServiceUsesPoolOfSecondFamily(t *testing.T) {
	both := func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	}
	pools := map[corev1.IPFamily]string{corev1.IPv4Protocol: "four", corev1.IPv6Protocol: "six"}
	for name, c := range map[string]struct {
		service *corev1.Service
		pools   map[corev1.IPFamily]string
		want    []part
	}{
		"one family":             {service("web"), pools, []part{{family: corev1.IPv4Protocol, pool: "four"}}},
		"no family said":         {service("web", func(s *corev1.Service) { s.Spec.IPFamilies = nil }), nil, []part{{family: corev1.IPv4Protocol}}},
		"both":                   {service("web", both), pools, []part{{family: corev1.IPv6Protocol, pool: "six"}, {family: corev1.IPv4Protocol, pool: "four"}}},
		"no pool for the second": {service("web", both), map[corev1.IPFamily]string{corev1.IPv6Protocol: "six"}, []part{{family: corev1.IPv6Protocol, pool: "six"}}},
		"by DHCP":                {service("web", both, annotated(ipamAnnotation, "dhcp")), pools, []part{{family: corev1.IPv6Protocol, pool: "six"}}},
		"of another class":       {service("web", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new(string) }), pools, nil},
		"sharing another's":      {service("web", both, annotated(primaryAnnotation, "default/first")), pools, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := Options{Cluster: "blue", Pools: c.pools}
			got := o.neededParts(c.service)
			g.Expect(got).To(HaveLen(len(c.want)))
			for n := range got {
				g.Expect(got[n].family).To(Equal(c.want[n].family))
				g.Expect(got[n].pool).To(Equal(c.want[n].pool))
			}
			if len(got) > 0 {
				g.Expect(got[0].name).To(Equal(Name("blue", c.service)))
			}
			if len(got) > 1 {
				g.Expect(got[1].name).NotTo(Equal(got[0].name))
			}
		})
	}
}

func TestCheckRejectsChangesOfAddressSettings(t *testing.T) {
	pool := lbv1.LoadBalancerSpec{IPAM: lbv1.IPAMPool}
	noted := func(asked string) *lbv1.LoadBalancer {
		return &lbv1.LoadBalancer{Spec: pool, ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{askedAnnotation: asked, lbv1.NetworkAnnotation: "found"}}}
	}
	before := &lbv1.LoadBalancer{Spec: pool, ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{lbv1.NetworkAnnotation: "a/b"}}}
	for name, c := range map[string]struct {
		service   *corev1.Service
		lb        *lbv1.LoadBalancer
		wantError string
	}{
		"new":                         {service("web"), nil, ""},
		"unknown ipam":                {service("web", annotated(ipamAnnotation, "static")), nil, `is "static": it must be pool or dhcp`},
		"other ipam":                  {service("web", annotated(ipamAnnotation, "dhcp")), noted(""), `has its address by "pool"`},
		"same network":                {service("web", annotated(networkAnnotation, "a/b")), noted("a/b"), ""},
		"other network":               {service("web", annotated(networkAnnotation, "a/c")), noted("a/b"), `has its address in network "a/b"`},
		"network added":               {service("web", annotated(networkAnnotation, "a/c")), noted(""), `is "a/c"`},
		"network taken away":          {service("web"), noted("a/b"), `is ""`},
		"made before that was noted":  {service("web", annotated(networkAnnotation, "a/b")), before, ""},
		"other than before, unnoted":  {service("web", annotated(networkAnnotation, "a/c")), before, `is "a/c"`},
		"none, and Harvester's known": {service("web"), noted(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := check(c.service, c.lb)
			if c.wantError == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.wantError)))
		})
	}
}

func TestForeignLoadBalancers(t *testing.T) {
	g := NewWithT(t)
	o := Options{Cluster: "blue"}
	web := service("web")
	own := o.wanted(web, o.neededParts(web)[0], nil, "this")
	g.Expect(o.foreign(web, own, "this")).To(Succeed())
	g.Expect(o.foreign(web, own, "that")).To(MatchError(ContainSubstring("belongs to another cluster")))
	unsaid := own.DeepCopy()
	delete(unsaid.Annotations, lbv1.ClusterUIDAnnotation)
	g.Expect(o.foreign(web, unsaid, "this")).To(Succeed(), "it was made before its owner was noted")
	unsaid.Labels[nameLabel] = "db"
	g.Expect(o.foreign(web, unsaid, "this")).To(MatchError(ContainSubstring(`is "db", not "web"`)))

	g.Expect(o.namesake([]lbv1.LoadBalancer{*own}, "this")).To(Succeed())
	g.Expect(o.namesake([]lbv1.LoadBalancer{*own}, "that")).To(MatchError(And(ContainSubstring(`has the same name "blue"`), ContainSubstring("--cluster-name"))))
	own.Labels[lbv1.GuestClusterLabel] = "green"
	g.Expect(o.namesake([]lbv1.LoadBalancer{*own}, "that")).To(Succeed())
}

func TestServiceSharesTheAddressOfAnother(t *testing.T) {
	has := annotated(lbv1.AddressesAnnotation, "10.0.0.1")
	shares := annotated(primaryAnnotation, "default/first")
	udp := ports(corev1.ServicePort{Port: 80, Protocol: corev1.ProtocolUDP})
	other := ports(corev1.ServicePort{Port: 81})
	going := func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	older := func(s *corev1.Service) { s.CreationTimestamp = metav1.Unix(100, 0) }
	younger := func(s *corev1.Service) { s.CreationTimestamp = metav1.Unix(200, 0) }
	dhcp := annotated(lbv1.AddressesAnnotation, lbv1.UnspecifiedAddress)
	leased := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.168.0.9"}}
	}
	for name, c := range map[string]struct {
		service, primary *corev1.Service
		sharing          []*corev1.Service
		want             []string
		wantError        string
	}{
		"on another port":         {service("web", shares, other), service("first", has), nil, []string{"10.0.0.1"}, ""},
		"on a UDP port":           {service("web", shares, udp), service("first", has), nil, []string{"10.0.0.1"}, ""},
		"on the same port":        {service("web", shares), service("first", has), nil, nil, "port 80/TCP is already used by Service default/first"},
		"that has none yet":       {service("web", shares, other), service("first"), nil, nil, ""},
		"that is not there":       {service("web", shares, other), nil, nil, nil, "does not exist"},
		"of another type":         {service("web", shares, other), service("first", func(s *corev1.Service) { s.Spec.Type = "ClusterIP" }), nil, nil, "does not exist, or is not a Service with"},
		"that shares itself":      {service("web", shares, other), service("first", annotated(primaryAnnotation, "default/zero")), nil, nil, "has no address of its own"},
		"that is going":           {service("web", shares, other), service("first", has, going), nil, nil, "is being deleted"},
		"that is going, and has":  {service("web", shares, other, has), service("first", has, going), nil, []string{"10.0.0.1"}, ""},
		"in another network":      {service("web", shares, other, annotated(networkAnnotation, "a/b")), service("first", has), nil, nil, `has its address in network ""`},
		"of a DHCP server":        {service("web", shares, other), service("first", dhcp, leased), nil, []string{"192.168.0.9"}, ""},
		"of a slow DHCP server":   {service("web", shares, other), service("first", dhcp), nil, nil, ""},
		"of both families, one":   {service("web", shares, other), service("first", annotated(lbv1.AddressesAnnotation, "fd00::1,10.0.0.1")), nil, []string{"10.0.0.1"}, ""},
		"of another family":       {service("web", shares, other), service("first", annotated(lbv1.AddressesAnnotation, "fd00::1")), nil, nil, "is not of an IP family of the Service"},
		"with an older one":       {service("web", shares, other, younger), service("first", has), []*corev1.Service{service("b", shares, other, older)}, nil, "port 81/TCP is already used by Service default/b"},
		"with a younger one":      {service("web", shares, other, older), service("first", has), []*corev1.Service{service("b", shares, other, younger)}, []string{"10.0.0.1"}, ""},
		"with a younger that has": {service("web", shares, other, older), service("first", has), []*corev1.Service{service("b", shares, other, younger, has)}, nil, "port 81/TCP"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := share(c.service, c.primary, c.sharing)
			if c.wantError != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.wantError)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(ConsistOf(c.want))
		})
	}
}

func TestPrimaryServiceIsNamedWithItsNamespace(t *testing.T) {
	g := NewWithT(t)
	for _, text := range []string{"first", "/first", "default/", "a/b/c"} {
		_, err := primaryOf(service("web", annotated(primaryAnnotation, text)))
		g.Expect(err).To(MatchError(ContainSubstring("must be the namespace/name")), text)
	}
	g.Expect(primaryOf(service("web", annotated(primaryAnnotation, "default/first")))).To(Equal(types.NamespacedName{Namespace: "default", Name: "first"}))
	g.Expect(primaryOf(service("web"))).To(BeZero())
}

func TestAddressIsWrittenToAnnotationAndField(t *testing.T) {
	g := NewWithT(t)
	said := func(service *corev1.Service, to given) string {
		data, err := client.MergeFrom(service).Data(changeOf(service, to).of(service))
		g.Expect(err).NotTo(HaveOccurred())
		return string(data)
	}
	both := given{addresses: []string{"10.0.0.1", "fd00::1"}, shares: "default.first", nic: "enp2s0"}
	g.Expect(said(service("web"), both)).To(MatchJSON(`{"metadata":{"annotations":{"kube-vip.io/loadbalancerIPs":"10.0.0.1,fd00::1","kube-vip.io/serviceInterface":"enp2s0",
		"cloudprovider.harvesterhci.io/service-interface":"enp2s0"},
		"labels":{"cloudprovider.harvesterhci.io/primary-service":"default.first"}},"spec":{"loadBalancerIP":"10.0.0.1"}}`))
	has := service("web", annotated(lbv1.AddressesAnnotation, "10.0.0.1,fd00::1", nicAnnotation, "enp2s0", givenNICAnnotation, "enp2s0"), func(s *corev1.Service) {
		s.Spec.LoadBalancerIP, s.Labels = "10.0.0.1", map[string]string{primaryLabel: "default.first"}
	})
	g.Expect(changeOf(has, both)).To(BeNil(), "it has them")
	g.Expect(said(has, given{})).To(MatchJSON(`{"metadata":{"annotations":null,"labels":null},"spec":{"loadBalancerIP":null}}`))
	long := given{addresses: []string{"10.0.0.1"}, shares: strings.Repeat("a", 64)}
	g.Expect(changeOf(service("web"), long).labels).To(BeEmpty(), "it fits no label")
}

func TestReplacedAddressIsReported(t *testing.T) {
	field := func(address string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.LoadBalancerIP = address }
	}
	reached := func(address string) func(*corev1.Service) {
		return func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
		}
	}
	has := annotated(lbv1.AddressesAnnotation, "10.0.0.9")
	for name, c := range map[string]struct {
		service *corev1.Service
		given   []string
		want    string
	}{
		"no wish":                              {service("web"), []string{"10.0.0.1"}, ""},
		"a wish that is granted":               {service("web", field("10.0.0.1")), []string{"10.0.0.1"}, ""},
		"the field":                            {service("web", field("10.0.0.9")), []string{"10.0.0.1"}, "10.0.0.9"},
		"the annotation":                       {service("web", has), []string{"10.0.0.1"}, "10.0.0.9"},
		"both":                                 {service("web", has, field("10.0.0.9")), []string{"10.0.0.1"}, "10.0.0.9"},
		"the annotation, announced meanwhile":  {service("web", has, reached("10.0.0.9")), []string{"10.0.0.1"}, "10.0.0.9"},
		"the address it had from another pool": {service("web", has, field("10.0.0.9"), reached("10.0.0.9")), []string{"10.0.0.1"}, ""},
		"the annotation, of one that has one":  {service("web", has, field("10.0.0.1"), reached("10.0.0.1")), []string{"10.0.0.1"}, "10.0.0.9"},
		"it gets no address any more":          {service("web", has, field("10.0.0.9")), nil, ""},
		"a DHCP server's":                      {service("web", field("0.0.0.0")), []string{"10.0.0.1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(replacedAddress(c.service, c.given)).To(Equal(c.want))
		})
	}
}

func TestIgnoredAnnotationsAreReported(t *testing.T) {
	in := func(project string) *lbv1.LoadBalancer {
		return &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Annotations: map[string]string{lbv1.ProjectAnnotation: project}}}
	}
	for name, c := range map[string]struct {
		service     *corev1.Service
		lb          *lbv1.LoadBalancer
		wantRemarks []string
	}{
		"nothing said":          {service("web"), in("c-1/p-2"), nil},
		"the facts":             {service("web", annotated(projectAnnotation, "c-1:p-2", namespaceAnnotation, "team")), in("c-1/p-2"), nil},
		"another project":       {service("web", annotated(projectAnnotation, "c-1/p-9")), in("c-1/p-2"), []string{`namespace team is in project "c-1/p-2" on Harvester`}},
		"of no project":         {service("web", annotated(projectAnnotation, "c-1/p-9")), in(""), []string{`namespace team is in project "" on Harvester`}},
		"another namespace":     {service("web", annotated(namespaceAnnotation, "other")), in(""), []string{`are in namespace team`}},
		"before there is one":   {service("web", annotated(projectAnnotation, "c-1/p-9", namespaceAnnotation, "other")), nil, []string{`are in namespace team`}},
		"both that are another": {service("web", annotated(projectAnnotation, "p", namespaceAnnotation, "n")), in(""), []string{"are in namespace team", "is in project"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := ignored(c.service, c.lb, "team")
			g.Expect(got).To(HaveLen(len(c.wantRemarks)))
			for n, r := range got {
				g.Expect(r.reason).To(Equal(annotationIgnored))
				g.Expect(r.warns).To(BeTrue())
				g.Expect(r.text).To(ContainSubstring(c.wantRemarks[n]))
			}
		})
	}
}

func TestInterfaceOfServiceKeepsForeignValues(t *testing.T) {
	had := func(nic, given string) *corev1.Service {
		return service("web", annotated(lbv1.AddressesAnnotation, "10.0.0.1", nicAnnotation, nic, givenNICAnnotation, given), func(s *corev1.Service) {
			s.Spec.LoadBalancerIP = "10.0.0.1"
		})
	}
	for name, c := range map[string]struct {
		service *corev1.Service
		to      given
		want    string
	}{
		"another pool, another network": {had("enp2s0", "enp2s0"), given{addresses: []string{"10.9.0.1"}, nic: "enp3s0"}, `{"kube-vip.io/loadbalancerIPs":"10.9.0.1",
			"kube-vip.io/serviceInterface":"enp3s0","cloudprovider.harvesterhci.io/service-interface":"enp3s0"}`},
		"the network of the Nodes": {had("enp2s0", "enp2s0"), given{addresses: []string{"10.9.0.1"}}, `{"kube-vip.io/loadbalancerIPs":"10.9.0.1",
			"kube-vip.io/serviceInterface":null,"cloudprovider.harvesterhci.io/service-interface":null}`},
		"one of another client": {had("eth7", "enp2s0"), given{addresses: []string{"10.9.0.1"}}, `{"kube-vip.io/loadbalancerIPs":"10.9.0.1",
			"cloudprovider.harvesterhci.io/service-interface":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			change := changeOf(c.service, c.to)
			data, err := json.Marshal(change.annotations)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(data).To(MatchJSON(c.want))
			g.Expect(change.loadBalancerIP).To(Equal("10.9.0.1"))
		})
	}
}

func TestAllocatedAddressFamily(t *testing.T) {
	for name, c := range map[string]struct {
		given     string
		family    corev1.IPFamily
		want      string
		wantError string
	}{
		"none yet":                {"", corev1.IPv4Protocol, "", ""},
		"of its family":           {"10.0.0.1", corev1.IPv4Protocol, "10.0.0.1", ""},
		"of the other family":     {"fd00::1", corev1.IPv4Protocol, "", "set a pool for that family with the cloud provider's flag --ipv4-pool"},
		"of a DHCP server":        {"0.0.0.0", corev1.IPv4Protocol, "0.0.0.0", ""},
		"of a DHCP server, of v6": {"0.0.0.0", corev1.IPv6Protocol, "::", ""},
		"nonsense":                {"ten", corev1.IPv4Protocol, "", "which is not an IP address"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			lb := &lbv1.LoadBalancer{Status: lbv1.LoadBalancerStatus{AllocatedAddress: lbv1.AllocatedAddress{IP: c.given}}}
			got, err := allocated(lb, part{family: c.family})
			if c.wantError != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.wantError)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestPendingReportsReasonOfHarvester(t *testing.T) {
	g := NewWithT(t)
	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lb"}}
	g.Expect(pending(lb)).To(Equal(&waitError{what: "LoadBalancer team/lb on Harvester waits for its address: Harvester has not processed it yet"}))
	lb.Status.Conditions = []lbv1.Condition{{Type: lbv1.ReadyCondition, Status: corev1.ConditionFalse, Message: "no matched IPPool with requirement"}}
	g.Expect(pending(lb)).To(Equal(&waitError{stuck: true, what: "LoadBalancer team/lb on Harvester waits for its address: Harvester reports no matched IPPool with requirement"}))
}
