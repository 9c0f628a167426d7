// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func testClusterAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	newCluster := func() *infrav1.Metal3Cluster {
		return &infrav1.Metal3Cluster{ObjectMeta: rulestest.Named("cluster"), Spec: validCluster()}
	}
	for name, tc := range map[string]struct {
		change func(*infrav1.Metal3Cluster)
		want   string
	}{
		"a rule":      {func(c *infrav1.Metal3Cluster) { c.Spec.FailureDomains[0].Name = "a b" }, "spec.failureDomains[0].name: Invalid value"},
		"no endpoint": {func(c *infrav1.Metal3Cluster) { c.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{} }, "spec.controlPlaneEndpoint.host: Required value"},
		"one domain twice": {func(c *infrav1.Metal3Cluster) { c.Spec.FailureDomains[1].Name = "rack-1" },
			"spec.failureDomains[1]: Duplicate value"},
		"one intent twice": {func(c *infrav1.Metal3Cluster) {
			c.Spec.Distribution.FailureDomains = append(c.Spec.Distribution.FailureDomains, c.Spec.Distribution.FailureDomains[0])
		}, "spec.distribution.failureDomains[1]: Duplicate value"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			tc.change(cluster)
			rulestest.Rejected(NewWithT(t), api.Create(t.Context(), cluster), tc.want)
		})
	}
	cluster := newCluster()
	cluster.Spec.ControlPlaneEndpoint.Port = 0
	g.Expect(api.Create(ctx, cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.Port).To(BeEquivalentTo(6443), "the webhook's default")
	g.Expect(cluster.Spec.Distribution.GracePeriodSeconds).To(HaveValue(BeEquivalentTo(120)), "the CRD's default")
	api.Warnings()
	cluster.Spec.Distribution.FailureDomains[0].Name = "rack-9"
	g.Expect(api.Update(ctx, cluster)).To(Succeed())
	g.Expect(api.Warnings()).To(ContainElement(HavePrefix("spec.distribution.failureDomains[0].name: ")))
}

// testDomainInUse removes a failure domain with a machine, one that a machine is assigned to, and one that only machines of other
// clusters name.
func testDomainInUse(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	cluster := &infrav1.Metal3Cluster{ObjectMeta: rulestest.Named("in-use"), Spec: validCluster()}
	cluster.Labels = map[string]string{clusterv1.ClusterNameLabel: "in-use"}
	cluster.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "rack-1"}, {Name: "rack-2"}, {Name: "rack-3"}}
	g.Expect(api.Create(ctx, cluster)).To(Succeed())
	newMachine := func(name, owner, asked, observed string) *infrav1.Metal3Machine {
		machine := &infrav1.Metal3Machine{ObjectMeta: rulestest.Named(name), Spec: validMachine()}
		machine.Labels = map[string]string{clusterv1.ClusterNameLabel: owner}
		machine.Spec.FailureDomain = asked
		g.Expect(api.Create(ctx, machine)).To(Succeed())
		machine.Status.FailureDomain = observed
		g.Expect(api.Status().Update(ctx, machine)).To(Succeed())
		return machine
	}
	elsewhere := newMachine("elsewhere", "in-use", "rack-1", "rack-2")
	other := newMachine("other", "other", "rack-3", "rack-3")

	cluster.Spec.FailureDomains = cluster.Spec.FailureDomains[:2]
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "no machine of the cluster is in rack-3")
	removed := cluster.DeepCopy()
	removed.Spec.FailureDomains = nil
	err := api.Update(ctx, removed)
	rulestest.Rejected(g, err, "spec.failureDomains: Forbidden", "spec.failureDomains: Forbidden")
	g.Expect(err).To(MatchError(And(ContainSubstring("may not remove rack-1: Metal3Machine elsewhere is in it"),
		ContainSubstring("may not remove rack-2"), ContainSubstring("Cordoned"))))
	cluster.Spec.FailureDomains[1].ControlPlane = ptr.To(true)
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "what stays may change")

	g.Expect(api.Delete(ctx, elsewhere)).To(Succeed())
	cluster.Spec.FailureDomains = nil
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "no machine is left")
	g.Expect(api.Delete(ctx, other)).To(Succeed())
}

func testClusterTemplateAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	template := &infrav1.Metal3ClusterTemplate{ObjectMeta: rulestest.Named("template")}
	template.Spec.Template.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "rack 1"}}
	rulestest.Rejected(g, api.Create(ctx, template.DeepCopy()), "spec.template.spec.failureDomains[0].name: Invalid value")
	template.Spec.Template.Spec.FailureDomains[0].Name = "rack-1"
	g.Expect(api.Create(ctx, template)).To(Succeed(), "the ClusterClass fills the endpoint in")
	template.Spec.Template.Spec.FailureDomains[0].Name = "rack-2"
	g.Expect(api.Update(ctx, template)).To(Succeed(), "the topology controller passes it on")
	template.Spec.Template.Spec.FailureDomains[0].Name = "rack 2"
	rulestest.Rejected(g, api.Update(ctx, template), "spec.template.spec.failureDomains[0].name: Invalid value")
}

func testMachineAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	machine := &infrav1.Metal3Machine{ObjectMeta: rulestest.Named("machine"), Spec: validMachine()}
	for want, change := range map[string]func(*infrav1.Metal3MachineSpec){
		"spec.image.checksum: Required value":         func(s *infrav1.Metal3MachineSpec) { s.Image.Checksum = "" },
		"spec.failureDomainPolicy: Unsupported value": func(s *infrav1.Metal3MachineSpec) { s.FailureDomainPolicy = "Maybe" },
		"spec.hostSelectionOrder: Unsupported value":  func(s *infrav1.Metal3MachineSpec) { s.HostSelectionOrder = "Size" },
		"spec.dataTemplate.name: Required value":      func(s *infrav1.Metal3MachineSpec) { s.DataTemplate.Name = "" },
	} {
		broken := machine.DeepCopy()
		change(&broken.Spec)
		rulestest.Rejected(g, api.Create(ctx, broken), want)
	}
	g.Expect(api.Create(ctx, machine)).To(Succeed())
	machine.Spec.UserData.Namespace = "other"
	rulestest.Rejected(g, api.Update(ctx, machine), "spec.userData.namespace: Invalid value")
}

func testMachineTemplateAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	type spec = infrav1.Metal3MachineTemplateSpec
	rulestest.Rejected(g, api.Create(ctx, newTemplate(func(s *spec) { s.Template.Spec.ProviderID = "metal3://a" })),
		"spec.template.spec.providerID: Forbidden")

	template := newTemplate(func(*spec) {})
	g.Expect(api.Create(ctx, template)).To(Succeed())
	g.Expect(template.Spec.NodeReuse).To(HaveValue(BeFalse()), "the CRD's default")
	template.Spec.NodeReuse = ptr.To(true)
	template.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
	template.Spec.Template.Spec.AutomatedCleaningMode = infrav1.CleaningModeDisabled
	template.Spec.FailureDomainDataTemplates = []infrav1.FailureDomainDataTemplate{
		{FailureDomain: "rack-1", DataTemplate: infrav1.Metal3ObjectRef{Name: "data-rack-1"}}}
	g.Expect(api.Update(ctx, template)).To(Succeed(), "what the controllers read later")

	broken := template.DeepCopy()
	broken.Spec.FailureDomainDataTemplates = append(broken.Spec.FailureDomainDataTemplates, broken.Spec.FailureDomainDataTemplates[0])
	rulestest.Rejected(g, api.Update(ctx, broken), "spec.failureDomainDataTemplates[1]: Duplicate value")
	template.Spec.Template.Spec.Image.URL = "https://images.example.com/other.qcow2"
	rulestest.Rejected(g, api.Update(ctx, template), "spec.template.spec.image.url: Forbidden")
}

func testDataTemplateAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	template := &infrav1.Metal3DataTemplate{ObjectMeta: rulestest.Named("data"), Spec: validDataTemplate(t)}
	broken := template.DeepCopy()
	broken.Spec.MetaData.FromHostInterfaces[0].Interface = ""
	rulestest.Rejected(g, api.Create(ctx, broken), "spec.metaData.fromHostInterfaces[0].interface: Required value")
	broken = template.DeepCopy()
	*broken.Spec.NetworkData.Networks.IPv4[0].Routes[0].Gateway.String = "fd00::1"
	rulestest.Rejected(g, api.Create(ctx, broken), "spec.networkData.networks.ipv4[0].routes[0].gateway.string: Invalid value")

	g.Expect(api.Create(ctx, template)).To(Succeed())
	template.Spec.ClusterName = "other"
	g.Expect(api.Update(ctx, template)).To(Succeed(), "no machine uses it")
	template.Spec.MetaData.Strings[0].Value = "other"
	template.Spec.NetworkData.Services.DNSFromIPPool = nil
	rulestest.Rejected(g, api.Update(ctx, template), "spec.metaData.strings: Forbidden", "spec.networkData.services.dnsFromIPPool: Forbidden")
}

func testDataAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	data := newData()
	broken := data.DeepCopy()
	broken.Name = "data-1"
	rulestest.Rejected(g, api.Create(ctx, broken), "metadata.name: Invalid value")
	g.Expect(api.Create(ctx, data)).To(Succeed())
	data.Spec.MetaData = &corev1.SecretReference{Name: "m-metadata", Namespace: namespace}
	g.Expect(api.Update(ctx, data)).To(Succeed(), "the controller can set what it has to")
	data.Spec.Claim.Name = "other"
	rulestest.Rejected(g, api.Update(ctx, data), "spec.claim.name: Forbidden")
}

func testDataClaimAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	claim := &infrav1.Metal3DataClaim{ObjectMeta: rulestest.Named("m"), Spec: infrav1.Metal3DataClaimSpec{
		Template: corev1.ObjectReference{Name: "data", Namespace: "other"}}}
	rulestest.Rejected(g, api.Create(ctx, claim.DeepCopy()), "spec.template.namespace: Invalid value")
	claim.Spec.Template.Namespace = ""
	g.Expect(api.Create(ctx, claim)).To(Succeed())
	claim.Spec.Template.Name = "other"
	rulestest.Rejected(g, api.Update(ctx, claim), "spec.template.name: Forbidden")
}

func testRemediationAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	remediation := &infrav1.Metal3Remediation{ObjectMeta: rulestest.Named("m")}
	g.Expect(api.Create(ctx, remediation)).To(Succeed())
	g.Expect(remediation.Spec.Strategy).To(Equal(defaultStrategy(infrav1.RemediationStrategy{})))
	remediation.Spec.Strategy.TimeoutSeconds, remediation.Spec.Strategy.Type = 99, "Pray"
	rulestest.Rejected(g, api.Update(ctx, remediation), "spec.strategy.timeoutSeconds: Invalid value", "spec.strategy.type: Unsupported value")

	template := &infrav1.Metal3RemediationTemplate{ObjectMeta: rulestest.Named("template")}
	template.Spec.Template.Spec.Strategy.RetryLimit = 3
	g.Expect(api.Create(ctx, template)).To(Succeed())
	g.Expect(template.Spec.Template.Spec.Strategy).To(Equal(infrav1.RemediationStrategy{
		Type: infrav1.RebootRemediation, RetryLimit: 3, TimeoutSeconds: infrav1.DefaultRemediationTimeoutSeconds}))
}
