// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestValidateCluster(t *testing.T) {
	valid := func() infrav1.VSphereClusterSpec {
		return infrav1.VSphereClusterSpec{
			Server:                "vcenter.example.com",
			DisableClusterModule:  ptr.To(false),
			FailureDomainSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": "west"}},
		}
	}
	testRules(t, valid, validateCluster, []ruleCase[infrav1.VSphereClusterSpec]{
		{"server with a path", func(s *infrav1.VSphereClusterSpec) { s.Server = "vcenter/sdk" }, []string{"spec.server: Invalid value"}},
		{"thumbprint of MD5", func(s *infrav1.VSphereClusterSpec) { s.Thumbprint = "AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99" }, []string{"spec.thumbprint: Invalid value"}},
		{"empty selector", func(s *infrav1.VSphereClusterSpec) { s.FailureDomainSelector = &metav1.LabelSelector{} }, nil},
		{"unknown operator", func(s *infrav1.VSphereClusterSpec) {
			s.FailureDomainSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "site", Operator: "Like", Values: []string{"w"}}}
		}, []string{"spec.failureDomainSelector.matchExpressions[0].operator: Invalid value"}},
		{"operator without values", func(s *infrav1.VSphereClusterSpec) {
			s.FailureDomainSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "site", Operator: metav1.LabelSelectorOpIn}}
		}, []string{"spec.failureDomainSelector.matchExpressions[0].values: Required value"}},
		{"label that cannot be", func(s *infrav1.VSphereClusterSpec) { s.FailureDomainSelector.MatchLabels["a b"] = "c" }, []string{"spec.failureDomainSelector.matchLabels: Invalid value"}},
		{"cluster modules", func(s *infrav1.VSphereClusterSpec) {
			s.ClusterModules = []infrav1.ClusterModule{{ModuleUUID: "a"}, {ModuleUUID: "b"}}
		}, nil},
		{"a cluster module of two", func(s *infrav1.VSphereClusterSpec) {
			s.ClusterModules = []infrav1.ClusterModule{{ModuleUUID: "a"}, {ModuleUUID: "a"}}
		}, []string{"spec.clusterModules[1].moduleUUID: Duplicate value"}},
	})
}

func TestValidateIdentity(t *testing.T) {
	valid := func() infrav1.VSphereClusterIdentitySpec {
		return infrav1.VSphereClusterIdentitySpec{SecretName: "vcenter", AllowedNamespaces: &infrav1.AllowedNamespaces{}}
	}
	testRules(t, valid, validateIdentity, []ruleCase[infrav1.VSphereClusterIdentitySpec]{
		{"no namespace may use it", func(s *infrav1.VSphereClusterIdentitySpec) { s.AllowedNamespaces = nil }, nil},
		{"Secret with its namespace", func(s *infrav1.VSphereClusterIdentitySpec) { s.SecretName = "capv-system/vcenter" }, []string{"spec.secretName: Invalid value"}},
		{"unknown operator", func(s *infrav1.VSphereClusterIdentitySpec) {
			s.AllowedNamespaces.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}}
		}, []string{"spec.allowedNamespaces.selector.matchExpressions[0].operator: Invalid value"}},
	})
}

func TestValidateMachine(t *testing.T) {
	valid := func() infrav1.VSphereMachineSpec {
		return infrav1.VSphereMachineSpec{VirtualMachineCloneSpec: validCloneSpec(), ProviderID: "vsphere://423c0b3b-8a5f-4f0c-9c7f-000000000000"}
	}
	testRules(t, valid, validateMachine, []ruleCase[infrav1.VSphereMachineSpec]{
		{"providerID of another provider", func(s *infrav1.VSphereMachineSpec) { s.ProviderID = "aws:///i-1" }, []string{"spec.providerID: Invalid value"}},
		{"rule of the virtual machine", func(s *infrav1.VSphereMachineSpec) { s.HardwareVersion = "17" }, []string{"spec.hardwareVersion: Invalid value"}},
		{"rule of power off", func(s *infrav1.VSphereMachineSpec) { s.GuestSoftPowerOffTimeoutSeconds = 1 }, []string{"spec.guestSoftPowerOffTimeoutSeconds: Invalid value"}},
		{"rule of naming", func(s *infrav1.VSphereMachineSpec) { s.Naming.Template = "{{" }, []string{"spec.naming.template: Invalid value"}},
	})
}

func TestValidateMachineTemplate(t *testing.T) {
	valid := func() infrav1.VSphereMachineSpec {
		spec := infrav1.VSphereMachineSpec{VirtualMachineCloneSpec: validCloneSpec()}
		spec.Network.Devices[0].IPAddrs = nil
		return spec
	}
	testRules(t, valid, validateMachineTemplate, []ruleCase[infrav1.VSphereMachineSpec]{
		{"providerID", func(s *infrav1.VSphereMachineSpec) { s.ProviderID = "vsphere://a" }, []string{"spec.providerID: Forbidden"}},
		{"static address", func(s *infrav1.VSphereMachineSpec) { s.Network.Devices[1].IPAddrs = []string{"10.0.0.10/24"} }, []string{"spec.network.devices[1].ipAddrs: Forbidden"}},
		{"rule of the machine", func(s *infrav1.VSphereMachineSpec) { s.HardwareVersion = "17" }, []string{"spec.hardwareVersion: Invalid value"}},
	})
}

func TestValidateVM(t *testing.T) {
	valid := func() infrav1.VSphereVMSpec {
		return infrav1.VSphereVMSpec{
			VirtualMachineCloneSpec: validCloneSpec(),
			Placement:               infrav1.VSphereVMPlacement{FailureDomain: "a", ComputeCluster: "c", VMGroupName: "vms", HostGroupName: "hosts"},
		}
	}
	testRules(t, valid, validateVM, []ruleCase[infrav1.VSphereVMSpec]{
		{"nowhere in particular", func(s *infrav1.VSphereVMSpec) { s.Placement = infrav1.VSphereVMPlacement{} }, nil},
		{"card without a network", func(s *infrav1.VSphereVMSpec) { s.Network.Devices[1].NetworkName = "" }, []string{"spec.network.devices[1].networkName: Required value"}},
		{"group of no compute cluster", func(s *infrav1.VSphereVMSpec) { s.Placement.ComputeCluster = "" }, []string{"spec.placement.computeCluster: Required value"}},
		{"rule of the virtual machine", func(s *infrav1.VSphereVMSpec) { s.HardwareVersion = "17" }, []string{"spec.hardwareVersion: Invalid value"}},
		{"rule of power off", func(s *infrav1.VSphereVMSpec) { s.GuestSoftPowerOffTimeoutSeconds = 1 }, []string{"spec.guestSoftPowerOffTimeoutSeconds: Invalid value"}},
	})
}

// validFailureDomain returns a host group in a compute cluster.
func validFailureDomain() infrav1.VSphereFailureDomainSpec {
	return infrav1.VSphereFailureDomainSpec{
		Region: infrav1.FailureDomain{Name: "west", Type: infrav1.ComputeClusterFailureDomain, TagCategory: "k8s-region"},
		Zone:   infrav1.FailureDomain{Name: "west-a", Type: infrav1.HostGroupFailureDomain, TagCategory: "k8s-zone"},
		Topology: infrav1.Topology{
			Datacenter:            "dc",
			ComputeCluster:        "cluster",
			Hosts:                 infrav1.FailureDomainHosts{VMGroupName: "vms", HostGroupName: "hosts"},
			NetworkConfigurations: []infrav1.NetworkConfiguration{{NetworkName: "VM Network", Nameservers: []string{"10.0.0.2"}}},
			Datastore:             "nfs",
		},
	}
}

func TestValidateFailureDomain(t *testing.T) {
	type spec = infrav1.VSphereFailureDomainSpec
	const datacenter, cluster, group = infrav1.DatacenterFailureDomain, infrav1.ComputeClusterFailureDomain, infrav1.HostGroupFailureDomain
	types := func(region, zone infrav1.FailureDomainType) func(*spec) {
		return func(s *spec) { s.Region.Type, s.Zone.Type = region, zone }
	}
	testRules(t, validFailureDomain, validateFailureDomain, []ruleCase[spec]{
		{"datacenters in a country", types(datacenter, datacenter), nil},
		{"compute clusters in a datacenter", types(datacenter, cluster), nil},
		{"host groups in a datacenter", types(datacenter, group), nil},
		{"one cluster that is both", types(cluster, cluster), nil},
		{"zone larger than region", types(cluster, datacenter), []string{"spec.zone.type: Invalid value"}},
		{"host group for a region", types(group, group), []string{"spec.region.type: Invalid value"}},
		{"no datacenter", func(s *spec) { s.Topology.Datacenter = " " }, []string{"spec.topology.datacenter: Required value"}},
		{"nothing but a datacenter", func(s *spec) {
			types(datacenter, datacenter)(s)
			s.Topology = infrav1.Topology{Datacenter: "dc"}
		}, nil},
		{"region of no compute cluster", func(s *spec) {
			types(cluster, cluster)(s)
			s.Topology.ComputeCluster, s.Topology.Hosts = "", infrav1.FailureDomainHosts{}
		}, []string{"spec.topology.computeCluster: Required value", "spec.topology.computeCluster: Required value"}},
		{"zone of no compute cluster", func(s *spec) {
			types(datacenter, cluster)(s)
			s.Topology.ComputeCluster, s.Topology.Hosts = "", infrav1.FailureDomainHosts{}
		}, []string{"spec.topology.computeCluster: Required value"}},
		{"hosts of no compute cluster", func(s *spec) {
			types(datacenter, datacenter)(s)
			s.Topology.ComputeCluster = ""
		}, []string{"spec.topology.computeCluster: Required value"}},
		{"host group of no hosts", func(s *spec) { s.Topology.Hosts = infrav1.FailureDomainHosts{} }, []string{"spec.topology.hosts: Required value"}},
		{"networks named twice", func(s *spec) { s.Topology.Networks = []string{"a"} }, []string{"spec.topology.networks: Forbidden"}},
		{"template", func(s *spec) { s.Topology.Template = "t" }, nil},
		{"addresses from pools", func(s *spec) {
			s.Topology.NetworkConfigurations[0].AddressesFromPools = make([]infrav1.IPPoolReference, 1)
		}, []string{
			"spec.topology.networkConfigurations[0].addressesFromPools[0].apiGroup: Required value",
			"spec.topology.networkConfigurations[0].addressesFromPools[0].kind: Required value",
			"spec.topology.networkConfigurations[0].addressesFromPools[0].name: Required value",
		}},
		{"name server by name", func(s *spec) { s.Topology.NetworkConfigurations[0].Nameservers[0] = "dns" },
			[]string{"spec.topology.networkConfigurations[0].nameservers[0]: Invalid value"}},
		{"unknown useDomains", func(s *spec) {
			s.Topology.NetworkConfigurations[0].DHCP4Overrides = &infrav1.DHCPOverrides{UseDomains: ptr.To("maybe")}
		}, []string{"spec.topology.networkConfigurations[0].dhcp4Overrides.useDomains: Unsupported value"}},
	})
}

func TestValidateZone(t *testing.T) {
	valid := func() infrav1.VSphereDeploymentZoneSpec {
		return infrav1.VSphereDeploymentZoneSpec{Server: "vcenter.example.com", FailureDomain: "a"}
	}
	testRules(t, valid, validateZone, []ruleCase[infrav1.VSphereDeploymentZoneSpec]{
		{"no server", func(s *infrav1.VSphereDeploymentZoneSpec) { s.Server = "" }, nil},
		{"server with a scheme", func(s *infrav1.VSphereDeploymentZoneSpec) { s.Server = "http://vcenter" }, []string{"spec.server: Invalid value"}},
		{"thumbprint", func(s *infrav1.VSphereDeploymentZoneSpec) { s.Thumbprint = "AA" }, []string{"spec.thumbprint: Invalid value"}},
		{"identity", func(s *infrav1.VSphereDeploymentZoneSpec) {
			s.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: "zones"}
		}, nil},
		{"identity without a name", func(s *infrav1.VSphereDeploymentZoneSpec) {
			s.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind}
		}, []string{"spec.identityRef: Invalid value"}},
		{"Secret of no namespace", func(s *infrav1.VSphereDeploymentZoneSpec) {
			s.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: "zones"}
		}, []string{"spec.identityRef: Invalid value"}},
	})
}

func TestMachineTemplateInTopologyDryRuns(t *testing.T) {
	newTemplate := func(annotations map[string]string, cpus int32) *infrav1.VSphereMachineTemplate {
		template := &infrav1.VSphereMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: annotations}}
		template.Spec.Template.Spec.Template = "ubuntu"
		template.Spec.Template.Spec.NumCPUs = cpus
		return template
	}
	topology := map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
	for name, tc := range map[string]struct {
		dryRun      bool
		annotations map[string]string
		allowed     bool
	}{
		"dry run of the topology controller": {true, topology, true},
		"dry run of another client":          {true, nil, false},
		"annotation without a dry run":       {false, topology, false},
		"neither":                            {false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ctx := admission.NewContextWithRequest(t.Context(), admission.Request{
				AdmissionRequest: admissionv1.AdmissionRequest{DryRun: &tc.dryRun}})
			template := newTemplate(tc.annotations, 4)
			g.Expect(defaultMachineTemplate(ctx, template)).To(Succeed())
			_, errs, err := updateMachineTemplate(ctx, newTemplate(nil, 2), newTemplate(tc.annotations, 4))
			g.Expect(err).NotTo(HaveOccurred())
			if tc.allowed {
				g.Expect(template.Spec.Template.Spec.PowerOffMode).To(Equal(infrav1.VirtualMachinePowerOpModeHard))
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(template.Spec.Template.Spec.PowerOffMode).To(BeEmpty())
			g.Expect(rulestest.Summary(errs)).To(ConsistOf("spec.template.spec.numCPUs: Forbidden"))
		})
	}
}
