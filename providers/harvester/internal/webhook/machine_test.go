// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// validMachine returns a valid machine with every field that the rules check.
func validMachine() infrav1.HarvesterMachineSpec {
	return infrav1.HarvesterMachineSpec{
		ProviderID: "harvester://7c9f0b7e", FailureDomain: "zone-a", CPU: 2, Memory: "4Gi", SSHUser: "ubuntu", SSHKeyPair: "default/admin",
		Volumes: []infrav1.Volume{
			{VolumeType: infrav1.VolumeTypeImage, ImageName: "default/Ubuntu 24.04 (noble)", VolumeSize: ptr.To(resource.MustParse("40Gi")), BootOrder: 1},
			{VolumeType: infrav1.VolumeTypeStorageClass, StorageClass: "longhorn", VolumeSize: ptr.To(resource.MustParse("10Gi"))},
		},
		Networks: []string{"default/vlan1", "vlan2"},
		NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}},
				MatchFields:      []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"host-1"}}},
			}}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}},
		},
		WorkloadAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "topology.kubernetes.io/zone"}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
					TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
				},
			}},
		},
		NetworkConfig: &infrav1.NetworkConfig{Address: "10.20.0.10/24", Gateway: "10.20.0.1", DNSServers: []string{"10.20.0.53"}, DNSSearch: []string{"example.com"}},
		Firmware:      &infrav1.Firmware{EFI: true, SecureBoot: true},
		TPM:           &infrav1.TPM{Enabled: true, Persistent: true},
	}
}

func TestValidateMachine(t *testing.T) {
	type spec = infrav1.HarvesterMachineSpec
	pools := func(change func(*infrav1.VMNetworkConfig)) func(*spec) {
		return func(s *spec) {
			s.NetworkConfig = nil
			s.VMNetworkConfig = &infrav1.VMNetworkConfig{IPPoolRefs: []string{"pool-a"}, Gateway: "10.20.0.1", SubnetMask: "255.255.255.0"}
			change(s.VMNetworkConfig)
		}
	}
	testRules(t, validMachine, validateMachine, []ruleCase[spec]{
		{"nothing at all", func(s *spec) { *s = spec{} }, nil},
		{"providerID of another provider", func(s *spec) { s.ProviderID = "aws:///i-1" }, []string{"spec.providerID: Invalid value"}},
		{"memory of no unit that there is", func(s *spec) { s.Memory = "4GiB" }, []string{"spec.memory: Invalid value"}},
		{"no memory", func(s *spec) { s.Memory = "0" }, []string{"spec.memory: Invalid value"}},
		{"image without a name", func(s *spec) { s.Volumes[0].ImageName = "" }, []string{"spec.volumes[0].imageName: Required value"}},
		{"image of no namespace", func(s *spec) { s.Volumes[0].ImageName = "/ubuntu" }, []string{"spec.volumes[0].imageName: Invalid value"}},
		{"image without a size", func(s *spec) { s.Volumes[0].VolumeSize = nil }, nil},
		{"volume without a storage class", func(s *spec) { s.Volumes[1].StorageClass = "" }, []string{"spec.volumes[1].storageClass: Required value"}},
		{"empty volume without a size", func(s *spec) { s.Volumes[1].VolumeSize = nil }, []string{"spec.volumes[1].volumeSize: Required value"}},
		{"volume of nothing", func(s *spec) { s.Volumes[1].VolumeSize = ptr.To(resource.MustParse("0")) }, []string{"spec.volumes[1].volumeSize: Invalid value"}},
		{"two volumes to boot first", func(s *spec) { s.Volumes[1].BootOrder = 1 }, []string{"spec.volumes[1].bootOrder: Duplicate value"}},
		{"order before the first", func(s *spec) { s.Volumes[0].BootOrder = -1 }, []string{"spec.volumes[0].bootOrder: Invalid value"}},
		{"volumes without an order", func(s *spec) { s.Volumes[0].BootOrder = 0 }, nil},
		{"network that names nothing", func(s *spec) { s.Networks[1] = "" }, []string{"spec.networks[1]: Invalid value"}},
		{"key pair that names nothing", func(s *spec) { s.SSHKeyPair = "default/" }, []string{"spec.sshKeyPair: Invalid value"}},
		{"Secure Boot with BIOS", func(s *spec) { s.Firmware.EFI = false }, []string{"spec.firmware.secureBoot: Invalid value"}},
		{"persistent TPM that is not there", func(s *spec) { s.TPM.Enabled = false }, []string{"spec.tpm.persistent: Invalid value"}},
		{"failure domain that no label can name", func(s *spec) { s.FailureDomain = "zone a" }, []string{"spec.failureDomain: Invalid value"}},

		{"invalid address", func(s *spec) { s.NetworkConfig.Address = "10.20.0.10/33" }, []string{"spec.networkConfig.address: Invalid value"}},
		{"address without a prefix", func(s *spec) { s.NetworkConfig.Address = "10.20.0.10" }, nil},
		{"address without a gateway", func(s *spec) { s.NetworkConfig.Gateway = "" }, []string{"spec.networkConfig.gateway: Invalid value"}},
		{"address of its own and from a pool", func(s *spec) {
			fixed := s.NetworkConfig
			pools(func(*infrav1.VMNetworkConfig) {})(s)
			s.NetworkConfig = fixed
		},
			[]string{"spec.vmNetworkConfig: Forbidden"}},
		{"address from a pool", pools(func(*infrav1.VMNetworkConfig) {}), nil},
		{"address from nowhere", pools(func(c *infrav1.VMNetworkConfig) { c.IPPoolRefs = nil }), []string{"spec.vmNetworkConfig.ipPoolRefs: Required value"}},
		{"ipPool of a machine", pools(func(c *infrav1.VMNetworkConfig) { c.IPPool = &infrav1.IPPool{} }), []string{"spec.vmNetworkConfig.ipPool: Forbidden"}},
		{"invalid mask", pools(func(c *infrav1.VMNetworkConfig) { c.SubnetMask = "not-a-mask" }), []string{"spec.vmNetworkConfig.subnetMask: Invalid value"}},
	})
}

func TestValidateAffinity(t *testing.T) {
	type spec = infrav1.HarvesterMachineSpec
	expression := func(key string, operator corev1.NodeSelectorOperator, values ...string) func(*spec) {
		return func(s *spec) {
			s.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchExpressions = []corev1.NodeSelectorRequirement{
				{Key: key, Operator: operator, Values: values}}
		}
	}
	required := func(s *spec) *corev1.NodeSelector {
		return s.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	const preference, terms = "spec.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0]",
		"spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	testRules(t, validMachine, validateMachine, []ruleCase[spec]{
		{"label that is there", expression("disk", corev1.NodeSelectorOpExists), nil},
		{"comparison", expression("cores", corev1.NodeSelectorOpGt, "16"), nil},
		{"comparison with no number", expression("cores", corev1.NodeSelectorOpLt, "few"), []string{preference + ".values: Invalid value"}},
		{"comparison with two numbers", expression("cores", corev1.NodeSelectorOpLt, "1", "2"), []string{preference + ".values: Invalid value"}},
		{"one of none", expression("disk", corev1.NodeSelectorOpIn), []string{preference + ".values: Invalid value"}},
		{"there with a value", expression("disk", corev1.NodeSelectorOpDoesNotExist, "ssd"), []string{preference + ".values: Invalid value"}},
		{"unknown operator", expression("disk", "Like", "ssd"), []string{preference + ".operator: Unsupported value"}},
		{"label that cannot be", expression("a b", corev1.NodeSelectorOpExists), []string{preference + ".key: Invalid value"}},
		{"no term", func(s *spec) { required(s).NodeSelectorTerms = nil }, []string{terms + ": Required value"}},
		{"field that hosts do not have", func(s *spec) { required(s).NodeSelectorTerms[0].MatchFields[0].Key = "metadata.uid" }, []string{terms + "[0].matchFields[0].key: Invalid value"}},
		{"field with a comparison", func(s *spec) { required(s).NodeSelectorTerms[0].MatchFields[0].Operator = "Gt" }, []string{terms + "[0].matchFields[0]: Invalid value"}},
		{"weight of a host", func(s *spec) { s.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight = 101 },
			[]string{"spec.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value"}},
		{"workload near nothing", func(s *spec) { s.WorkloadAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey = "" },
			[]string{"spec.workloadAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value"}},
		{"workload with a label that cannot be", func(s *spec) {
			s.WorkloadAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector.MatchLabels["app"] = "a b"
		}, []string{"spec.workloadAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: Invalid value"}},
		{"weight of a workload", func(s *spec) { s.WorkloadAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight = 0 },
			[]string{"spec.workloadAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value"}},
	})
}

func TestValidateMachineObject(t *testing.T) {
	g := NewWithT(t)
	machine := &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named("m"), Spec: validMachine()}
	g.Expect(validateMachineObject(machine)).To(BeEmpty())
	machine.Spec = infrav1.HarvesterMachineSpec{}
	g.Expect(rulestest.Summary(validateMachineObject(machine))).To(ConsistOf("spec.cpu: Required value", "spec.memory: Required value", "spec.volumes: Required value"))
	machine.Spec, machine.Name = validMachine(), strings.Repeat("a", 64)
	g.Expect(rulestest.Summary(validateMachineObject(machine))).To(ConsistOf("metadata.name: Invalid value"))
}

func TestMachineIsImmutableExceptControllerFields(t *testing.T) {
	type spec = infrav1.HarvesterMachineSpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   []string
	}{
		"nothing":             {func(*spec) {}, nil},
		"failure domain":      {func(s *spec) { s.FailureDomain = "zone-b" }, nil},
		"another provider ID": {func(s *spec) { s.ProviderID = "harvester://other" }, []string{"spec.providerID: Forbidden"}},
		"cores":               {func(s *spec) { s.CPU = 4 }, []string{"spec.cpu: Forbidden"}},
		"a volume":            {func(s *spec) { s.Volumes = s.Volumes[:1] }, []string{"spec.volumes: Forbidden"}},
		"affinity":            {func(s *spec) { s.WorkloadAffinity = nil; s.TPM.Persistent = false }, []string{"spec.tpm.persistent: Forbidden", "spec.workloadAffinity.preferredDuringSchedulingIgnoredDuringExecution: Forbidden", "spec.workloadAffinity.requiredDuringSchedulingIgnoredDuringExecution: Forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named("m"), Spec: validMachine()}
			after := before.DeepCopy()
			tc.change(&after.Spec)
			g.Expect(rulestest.Summary(changeMachine(before, after))).To(ConsistOf(tc.want))
		})
	}
	g := NewWithT(t)
	before := &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named("m"), Spec: validMachine()}
	before.Spec.ProviderID = ""
	after := before.DeepCopy()
	after.Spec.ProviderID = "harvester://7c9f0b7e"
	g.Expect(changeMachine(before, after)).To(BeEmpty(), "it becomes known")
}

func newTemplate(change func(*infrav1.HarvesterMachineSpec)) *infrav1.HarvesterMachineTemplate {
	template := &infrav1.HarvesterMachineTemplate{ObjectMeta: rulestest.Named("template")}
	template.Spec.Template.Spec = validMachine()
	template.Spec.Template.Spec.ProviderID, template.Spec.Template.Spec.FailureDomain, template.Spec.Template.Spec.NetworkConfig = "", "", nil
	change(&template.Spec.Template.Spec)
	return template
}

func TestValidateMachineTemplate(t *testing.T) {
	type spec = infrav1.HarvesterMachineSpec
	path := field.NewPath("spec", "template", "spec")
	for name, tc := range map[string]struct {
		change   func(*spec)
		want     []string
		warnings []string
	}{
		"valid":               {change: func(*spec) {}},
		"filled in later":     {change: func(s *spec) { *s = spec{CPU: 2, Memory: "4Gi", SSHUser: "sles"} }},
		"providerID":          {change: func(s *spec) { s.ProviderID = "harvester://a" }, want: []string{"spec.template.spec.providerID: Forbidden"}},
		"rule of the machine": {change: func(s *spec) { s.Memory = "much" }, want: []string{"spec.template.spec.memory: Invalid value"}},
		"failure domain":      {change: func(s *spec) { s.FailureDomain = "zone-a" }, warnings: []string{"spec.template.spec.failureDomain: "}},
		"fixed address":       {change: func(s *spec) { s.NetworkConfig = validMachine().NetworkConfig }, warnings: []string{"spec.template.spec.networkConfig.address: "}},
		"key without a user":  {change: func(s *spec) { s.SSHUser = "" }, warnings: []string{"spec.template.spec.sshKeyPair: "}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			template := newTemplate(tc.change).Spec.Template.Spec
			g.Expect(rulestest.Summary(validateMachineTemplate(template, path))).To(ConsistOf(tc.want))
			warnings := warnMachineTemplate(template, path)
			g.Expect(warnings).To(HaveLen(len(tc.warnings)))
			for _, want := range tc.warnings {
				g.Expect(warnings).To(ContainElement(HavePrefix(want)))
			}
		})
	}
}

func TestTemplateIsMutableOnlyInTopologyDryRuns(t *testing.T) {
	for name, tc := range map[string]struct{ dryRun, annotated, allowed bool }{
		"dry run of the topology controller": {true, true, true},
		"dry run of another client":          {true, false, false},
		"annotation without a dry run":       {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ctx := admission.NewContextWithRequest(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: &tc.dryRun}})
			before, after := newTemplate(func(*infrav1.HarvesterMachineSpec) {}), newTemplate(func(s *infrav1.HarvesterMachineSpec) { s.CPU = 8 })
			if tc.annotated {
				after.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
			}
			_, errs, err := updateMachineTemplate(ctx, before, after)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.allowed {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(rulestest.Summary(errs)).To(ConsistOf("spec.template.spec.cpu: Forbidden"))
		})
	}
}
