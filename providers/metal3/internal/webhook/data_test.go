// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// validDataTemplate uses every renderer.
func validDataTemplate(t *testing.T) infrav1.Metal3DataTemplateSpec {
	t.Helper()
	g := NewWithT(t)
	data, err := os.ReadFile(filepath.Join("..", "..", "api", "v1beta2", "testdata", "metal3datatemplate.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	template := infrav1.Metal3DataTemplate{}
	g.Expect(yaml.UnmarshalStrict(data, &template)).To(Succeed())
	return template.Spec
}

func TestValidateMetaData(t *testing.T) {
	type spec = infrav1.Metal3DataTemplateSpec
	testRules(t, func() spec { return validDataTemplate(t) }, validateDataTemplate, []ruleCase[spec]{
		{"nothing to render", func(s *spec) { *s = spec{} }, nil},
		{"no interface", func(s *spec) { s.MetaData.FromHostInterfaces[0].Interface = "" },
			[]string{"spec.metaData.fromHostInterfaces[0].interface: Required value"}},
		{"interface and boot MAC address", func(s *spec) { s.MetaData.FromHostInterfaces[1].Interface = "eth0" },
			[]string{"spec.metaData.fromHostInterfaces[1].interface: Forbidden"}},
		{"label that cannot be", func(s *spec) { s.MetaData.FromLabels[0].Label = "a b" }, []string{"spec.metaData.fromLabels[0].label: Invalid value"}},
		{"annotation that cannot be", func(s *spec) { s.MetaData.FromAnnotations[0].Annotation = "/a" },
			[]string{"spec.metaData.fromAnnotations[0].annotation: Invalid value"}},
		{"annotation in capital letters", func(s *spec) { s.MetaData.FromAnnotations[0].Annotation = "metal3.io/BareMetalHost" }, nil},
	})
}

func TestValidateLinks(t *testing.T) {
	type spec = infrav1.Metal3DataTemplateSpec
	testRules(t, func() spec { return validDataTemplate(t) }, validateDataTemplate, []ruleCase[spec]{
		{"one id twice", func(s *spec) { s.NetworkData.Links.Vlans[0].ID, s.NetworkData.Networks.IPv4[0].Link = "eth0", "eth0" },
			[]string{"spec.networkData.links.vlans[0].id: Duplicate value"}},
		{"no MAC address", func(s *spec) { s.NetworkData.Links.Ethernets[0].MACAddress = &infrav1.NetworkLinkEthernetMac{} },
			[]string{"spec.networkData.links.ethernets[0].macAddress: Invalid value"}},
		{"two MAC addresses", func(s *spec) { s.NetworkData.Links.Ethernets[0].MACAddress.FromHostInterface = ptr.To("eth0") },
			[]string{"spec.networkData.links.ethernets[0].macAddress: Invalid value"}},
		{"no address at all", func(s *spec) { s.NetworkData.Links.Ethernets[0].MACAddress.String = ptr.To("eth0") },
			[]string{"spec.networkData.links.ethernets[0].macAddress.string: Invalid value"}},
		{"MAC address of no annotation", func(s *spec) { s.NetworkData.Links.Bonds[0].MACAddress.FromAnnotation.Annotation = "a b" },
			[]string{"spec.networkData.links.bonds[0].macAddress.fromAnnotation.annotation: Invalid value"}},
		{"bond without a MAC address", func(s *spec) { s.NetworkData.Links.Bonds[0].MACAddress = nil }, nil},
		{"bond of an unknown link", func(s *spec) { s.NetworkData.Links.Bonds[0].BondLinks[1] = "eth2" },
			[]string{"spec.networkData.links.bonds[0].bondLinks[1]: Invalid value"}},
		{"bond parameter that is a field", func(s *spec) { s.NetworkData.Links.Bonds[0].Parameters[0].Name = "mode" },
			[]string{"spec.networkData.links.bonds[0].parameters[0].name: Forbidden"}},
		{"bridge of an unknown link", func(s *spec) { s.NetworkData.Links.Bridges[0].BridgeLinks[0] = "bond1" },
			[]string{"spec.networkData.links.bridges[0].bridgeLinks[0]: Invalid value"}},
		{"bridge parameter that is a field", func(s *spec) { s.NetworkData.Links.Bridges[0].Parameters[0].Name = "links" },
			[]string{"spec.networkData.links.bridges[0].parameters[0].name: Forbidden"}},
		{"VLAN of an unknown link", func(s *spec) { s.NetworkData.Links.Vlans[0].VlanLink = "bond1" },
			[]string{"spec.networkData.links.vlans[0].vlanLink: Invalid value"}},
	})
}

func TestValidateNetworks(t *testing.T) {
	type spec = infrav1.Metal3DataTemplateSpec
	at := func(rest string) []string { return []string{"spec.networkData.networks." + rest} }
	testRules(t, func() spec { return validDataTemplate(t) }, validateDataTemplate, []ruleCase[spec]{
		{"IPv4 of no pool", func(s *spec) { s.NetworkData.Networks.IPv4[0].IPAddressFromIPPool = "" }, at("ipv4[0].fromPoolRef: Required value")},
		{"IPv6 of no pool", func(s *spec) { s.NetworkData.Networks.IPv6[1].FromPoolRef = nil }, at("ipv6[1].fromPoolRef: Required value")},
		{"pool of no annotation", func(s *spec) { s.NetworkData.Networks.IPv4[2].FromPoolAnnotation.Annotation = "a b" },
			at("ipv4[2].fromPoolAnnotation.annotation: Invalid value")},
		{"unknown link of IPv4", func(s *spec) { s.NetworkData.Networks.IPv4[0].Link = "x" }, at("ipv4[0].link: Invalid value")},
		{"unknown link of IPv6", func(s *spec) { s.NetworkData.Networks.IPv6[0].Link = "x" }, at("ipv6[0].link: Invalid value")},
		{"unknown link of IPv4 DHCP", func(s *spec) { s.NetworkData.Networks.IPv4DHCP[0].Link = "x" }, at("ipv4DHCP[0].link: Invalid value")},
		{"unknown link of IPv6 DHCP", func(s *spec) { s.NetworkData.Networks.IPv6DHCP[0].Link = "x" }, at("ipv6DHCP[0].link: Invalid value")},
		{"unknown link of SLAAC", func(s *spec) { s.NetworkData.Networks.IPv6SLAAC[0].Link = "x" }, at("ipv6SLAAC[0].link: Invalid value")},
		{"IPv4 route to nowhere", func(s *spec) { s.NetworkData.Networks.IPv4[0].Routes[0].Gateway = infrav1.NetworkGatewayv4{} },
			at("ipv4[0].routes[0].gateway: Required value")},
		{"IPv6 route to nowhere", func(s *spec) { s.NetworkData.Networks.IPv6SLAAC[0].Routes[0].Gateway = infrav1.NetworkGatewayv6{} },
			at("ipv6SLAAC[0].routes[0].gateway: Required value")},
		{"gateway of no annotation", func(s *spec) {
			s.NetworkData.Networks.IPv6[2].Routes[0].Gateway.FromPoolAnnotation.Annotation = "a b"
		}, at("ipv6[2].routes[0].gateway.fromPoolAnnotation.annotation: Invalid value")},
		{"DNS server by name", func(s *spec) { s.NetworkData.Services.DNS = []ipamv1.IPAddressStr{"10.0.0.2", "dns"} },
			[]string{"spec.networkData.services.dns[1]: Invalid value"}},
	})
}

func TestWarnDataTemplate(t *testing.T) {
	g := NewWithT(t)
	template := &infrav1.Metal3DataTemplate{ObjectMeta: rulestest.Named("t")}
	g.Expect(warnDataTemplate(template.Spec, field.NewPath("spec"))).To(BeEmpty())
	named := template.DeepCopy()
	named.Spec.ClusterName = "demo"
	g.Expect(changeDataTemplate(template, named)).To(BeEmpty())
	g.Expect(warnDataTemplate(named.Spec, field.NewPath("spec"))).To(ConsistOf(HavePrefix("spec.clusterName: has no effect")))
}

func TestNoLinks(t *testing.T) {
	g := NewWithT(t)
	errs := validateLinkID("eth0", nil, nil)
	g.Expect(errs).To(HaveLen(1))
	g.Expect(errs[0].Detail).To(ContainSubstring("add one"))
}

func TestValidateData(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*infrav1.Metal3Data)
		want   []string
	}{
		"valid":                         {func(*infrav1.Metal3Data) {}, nil},
		"another index than its name's": {func(d *infrav1.Metal3Data) { d.Spec.Index = 1 }, []string{"metadata.name: Invalid value"}},
		"negative index": {func(d *infrav1.Metal3Data) { d.Name, d.Spec.Index = "data--1", -1 },
			[]string{"spec.index: Invalid value"}},
		"template of another namespace": {func(d *infrav1.Metal3Data) { d.Spec.Template.Namespace = "other" },
			[]string{"spec.template.namespace: Invalid value"}},
		"no claim": {func(d *infrav1.Metal3Data) { d.Spec.Claim.Name = "" }, []string{"spec.claim.name: Required value"}},
		"Secret of another namespace": {func(d *infrav1.Metal3Data) {
			d.Spec.MetaData = &corev1.SecretReference{Name: "a", Namespace: "other"}
		}, []string{"spec.metaData.namespace: Invalid value"}},
	} {
		t.Run(name, func(t *testing.T) {
			data := newData()
			tc.change(data)
			NewWithT(t).Expect(rulestest.Summary(validateData(data))).To(ConsistOf(tc.want))
		})
	}
}

func newData() *infrav1.Metal3Data {
	return &infrav1.Metal3Data{ObjectMeta: rulestest.Named("data-0"), Spec: infrav1.Metal3DataSpec{
		Template: corev1.ObjectReference{Name: "data", Namespace: namespace}, Claim: corev1.ObjectReference{Name: "m"}}}
}

func TestDefaultStrategy(t *testing.T) {
	g := NewWithT(t)
	g.Expect(defaultStrategy(infrav1.RemediationStrategy{})).To(Equal(infrav1.RemediationStrategy{
		Type: infrav1.RebootRemediation, RetryLimit: 1, TimeoutSeconds: 600}))
	given := infrav1.RemediationStrategy{Type: infrav1.RebootRemediation, RetryLimit: 3, TimeoutSeconds: 100}
	g.Expect(defaultStrategy(given)).To(Equal(given))
}
