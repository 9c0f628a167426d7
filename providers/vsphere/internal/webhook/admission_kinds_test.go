// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func testClusterAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	newCluster := func() *infrav1.VSphereCluster {
		return &infrav1.VSphereCluster{ObjectMeta: rulestest.Named("cluster"), Spec: infrav1.VSphereClusterSpec{
			Server:                "vcenter.example.com",
			IdentityRef:           infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: "vcenter"},
			FailureDomainSelector: &metav1.LabelSelector{},
			Distribution: faultlinev1.Distribution{FailureDomains: []faultlinev1.FailureDomainIntent{
				{Name: "zone-a", State: faultlinev1.DomainCordoned}}},
		}}
	}
	for name, tc := range map[string]struct {
		change func(*infrav1.VSphereCluster)
		want   string
	}{
		"a rule":    {func(c *infrav1.VSphereCluster) { c.Spec.Server = "https://vcenter/ui" }, "spec.server: Invalid value"},
		"no server": {func(c *infrav1.VSphereCluster) { c.Spec.Server = "" }, "spec.server: Required value"},
		"identity of an unknown kind": {func(c *infrav1.VSphereCluster) { c.Spec.IdentityRef.Kind = "ConfigMap" },
			"spec.identityRef.kind: Unsupported value"},
		"one domain twice": {func(c *infrav1.VSphereCluster) {
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
	g.Expect(api.Create(ctx, cluster)).To(Succeed())
	g.Expect(cluster.Spec.Distribution.GracePeriodSeconds).To(HaveValue(BeEquivalentTo(120)), "the CRD's default")
	cluster.Spec.Thumbprint = "AA"
	rulestest.Rejected(g, api.Update(ctx, cluster), "spec.thumbprint: Invalid value")
}

func testClusterTemplateAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	newTemplate := func(server string) *infrav1.VSphereClusterTemplate {
		template := &infrav1.VSphereClusterTemplate{ObjectMeta: rulestest.Named("template")}
		template.Spec.Template.Spec.Server = server
		return template
	}
	rulestest.Rejected(g, api.Create(ctx, newTemplate("https://vcenter/ui")), "spec.template.spec.server: Invalid value")

	template := newTemplate("vcenter")
	g.Expect(api.Create(ctx, template)).To(Succeed())
	template.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
	g.Expect(api.Update(ctx, template)).To(Succeed(), "metadata may change")
	template.Spec.Template.Spec.FailureDomainSelector = &metav1.LabelSelector{}
	rulestest.Rejected(g, api.Update(ctx, template), "spec.template.spec.failureDomainSelector: Forbidden")
}

func testIdentityAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	identity := &infrav1.VSphereClusterIdentity{ObjectMeta: clusterScoped("identity"), Spec: infrav1.VSphereClusterIdentitySpec{SecretName: "a/b"}}
	rulestest.Rejected(g, api.Create(ctx, identity), "spec.secretName: Invalid value")

	api.Warnings()
	identity.Spec.SecretName = "vcenter"
	g.Expect(api.Create(ctx, identity)).To(Succeed())
	g.Expect(api.Warnings()).To(ConsistOf(HavePrefix("spec.allowedNamespaces: is not set")))

	identity.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{Selector: metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}}}}
	rulestest.Rejected(g, api.Update(ctx, identity), "spec.allowedNamespaces.selector.matchExpressions[0].operator: Invalid value")

	api.Warnings()
	identity.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{}
	g.Expect(api.Update(ctx, identity)).To(Succeed())
	g.Expect(api.Warnings()).To(ConsistOf(HavePrefix("spec.servers: is not set")))
	identity.Spec.Servers = []string{"vcenter.example.com", "https://vcenter.example.com"}
	rulestest.Rejected(g, api.Update(ctx, identity), "spec.servers[1]: Invalid value")
	identity.Spec.Servers = identity.Spec.Servers[:1]
	g.Expect(api.Update(ctx, identity)).To(Succeed())
}

func testMachineAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	machine := &infrav1.VSphereMachine{ObjectMeta: rulestest.Named("machine"), Spec: infrav1.VSphereMachineSpec{
		VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{Template: "ubuntu", MemoryMiB: 4095}}}
	rulestest.Rejected(g, api.Create(ctx, machine), "spec.memoryMiB: Invalid value")

	api.Warnings()
	machine.Spec.MemoryMiB = 0
	machine.Spec.Network.Devices = []infrav1.NetworkDeviceSpec{{DHCP4: ptr.To(true)}}
	g.Expect(api.Create(ctx, machine)).To(Succeed(), "the failure domain may name the network")
	g.Expect(machine.Spec.Datacenter).To(Equal("*"))
	g.Expect(api.Warnings()).To(ConsistOf(HavePrefix("spec.network.devices[0].networkName: is not set")))

	machine.Spec.ProviderID = "vsphere://423c0b3b"
	machine.Spec.PowerOffMode = infrav1.VirtualMachinePowerOpModeTrySoft
	machine.Spec.GuestSoftPowerOffTimeoutSeconds = 60
	machine.Spec.Network.Devices[0].IPAddrs = []string{"10.0.0.10/24"}
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "all that may change")
	g.Expect(api.Warnings()).To(BeEmpty(), "what was warned of before")

	machine.Spec.NumCPUs, machine.Spec.Template = 4, "debian"
	rulestest.Rejected(g, api.Update(ctx, machine), "spec.numCPUs: Forbidden", "spec.template: Forbidden")
}

func testMachineTemplateAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	template := &infrav1.VSphereMachineTemplate{ObjectMeta: rulestest.Named("template")}
	template.Spec.Template.Spec.Template = "ubuntu"
	template.Spec.Template.Spec.ProviderID = "vsphere://423c0b3b"
	rulestest.Rejected(g, api.Create(ctx, template), "spec.template.spec.providerID: Forbidden")

	template.Spec.Template.Spec.ProviderID = ""
	g.Expect(api.Create(ctx, template)).To(Succeed())
	g.Expect(template.Spec.Template.Spec.PowerOffMode).To(BeEmpty())

	template.Spec.Template.Spec.NumCPUs = 4
	rulestest.Rejected(g, api.Update(ctx, template.DeepCopy()), "spec.template.spec.numCPUs: Forbidden")
	rulestest.Rejected(g, api.Update(ctx, template.DeepCopy(), client.DryRunAll), "spec.template.spec.numCPUs: Forbidden")

	template.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
	g.Expect(api.Update(ctx, template, client.DryRunAll)).To(Succeed(), "a dry run of the topology controller")
	g.Expect(template.Spec.Template.Spec.PowerOffMode).To(Equal(infrav1.VirtualMachinePowerOpModeHard))
}

func testVMAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	vm := &infrav1.VSphereVM{ObjectMeta: rulestest.Named("vm"), Spec: infrav1.VSphereVMSpec{
		VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
			Template: "ubuntu", Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{DHCP4: ptr.To(true)}}}},
		Placement: infrav1.VSphereVMPlacement{FailureDomain: "zone-a", ComputeCluster: "cluster"},
	}}
	rulestest.Rejected(g, api.Create(ctx, vm), "spec.network.devices[0].networkName: Required value")

	vm.Spec.Network.Devices[0].NetworkName = "VM Network"
	g.Expect(api.Create(ctx, vm)).To(Succeed())
	g.Expect(vm.Spec.OS).To(Equal(infrav1.Linux))

	vm.Spec.BiosUUID = "423c0b3b"
	vm.Spec.BootstrapRef.Name = "bootstrap"
	vm.Spec.Thumbprint = "AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD"
	vm.Spec.PowerOffMode = infrav1.VirtualMachinePowerOpModeSoft
	vm.Spec.Network.Devices[0].IPAddrs = []string{"10.0.0.10/24"}
	g.Expect(api.Update(ctx, vm)).To(Succeed(), "all that may change")

	vm.Spec.BiosUUID = "another"
	vm.Spec.Placement.FailureDomain = "zone-b"
	rulestest.Rejected(g, api.Update(ctx, vm), "spec.biosUUID: Forbidden", "spec.placement.failureDomain: Forbidden")
}
