// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

const namespace = metav1.NamespaceDefault

// validMachine returns a machine with all fields that are validated.
func validMachine() infrav1.Metal3MachineSpec {
	return infrav1.Metal3MachineSpec{
		ProviderID: "metal3://default/host-1/m",
		Image: infrav1.Image{
			URL: "https://images.example.com/node.qcow2", Checksum: "https://images.example.com/node.qcow2.sha256",
			ChecksumType: ptr.To[infrav1.ChecksumType]("sha256"), DiskFormat: ptr.To[infrav1.DiskFormat]("qcow2"),
		},
		HostSelector:  infrav1.HostSelector{MatchLabels: map[string]string{"size": "large"}},
		UserData:      &corev1.SecretReference{Name: "user", Namespace: namespace},
		DataTemplate:  &infrav1.Metal3ObjectRef{Name: "data"},
		FailureDomain: "rack-1",
	}
}

func TestValidateMachine(t *testing.T) {
	type spec = infrav1.Metal3MachineSpec
	validate := func(s spec, path *field.Path) field.ErrorList { return validateMachine(s, namespace, path) }
	expression := func(key, operator string, values ...string) func(*spec) {
		return func(s *spec) {
			s.HostSelector.MatchExpressions = []infrav1.HostSelectorRequirement{{Key: key, Operator: operator, Values: values}}
		}
	}
	testRules(t, validMachine, validate, []ruleCase[spec]{
		{"providerID of another provider", func(s *spec) { s.ProviderID = "aws:///i-1" }, []string{"spec.providerID: Invalid value"}},
		{"providerID of older versions", func(s *spec) { s.ProviderID = "metal3://d4b5c1a3" }, nil},
		{"nothing to deploy", func(s *spec) { s.Image = infrav1.Image{} }, []string{"spec.image: Required value"}},
		{"procedure without an image", func(s *spec) { s.Image, s.CustomDeploy.Method = infrav1.Image{}, "install" }, nil},
		{"no URL", func(s *spec) { s.Image.URL = "" }, []string{"spec.image.url: Required value"}},
		{"path for a URL", func(s *spec) { s.Image.URL = "node.qcow2" }, []string{"spec.image.url: Invalid value"}},
		{"file for an image", func(s *spec) { s.Image.URL = "file:///images/node.qcow2" }, nil},
		{"no checksum", func(s *spec) { s.Image.Checksum = "" }, []string{"spec.image.checksum: Required value"}},
		{"live ISO without a checksum", func(s *spec) {
			s.Image.Checksum, s.Image.DiskFormat = "", ptr.To(infrav1.DiskFormatLiveISO)
		}, nil},
		{"image in an OCI registry without a checksum", func(s *spec) { s.Image.URL, s.Image.Checksum = "oci://registry.example.com/node:v1", "" }, nil},
		{"checksum itself", func(s *spec) { s.Image.Checksum = "d41d8cd98f00b204e9800998ecf8427e" }, nil},
		{"checksum at no URL", func(s *spec) { s.Image.Checksum = "https://a b" }, []string{"spec.image.checksum: Invalid value"}},
		{"user data of another namespace", func(s *spec) { s.UserData.Namespace = "other" }, []string{"spec.userData.namespace: Invalid value"}},
		{"user data without a name", func(s *spec) { s.UserData.Name = "" }, []string{"spec.userData.name: Required value"}},
		{"metadata of another namespace", func(s *spec) { s.MetaData = &corev1.SecretReference{Name: "a", Namespace: "other"} },
			[]string{"spec.metaData.namespace: Invalid value"}},
		{"network data of another namespace", func(s *spec) { s.NetworkData = &corev1.SecretReference{Name: "a", Namespace: "other"} },
			[]string{"spec.networkData.namespace: Invalid value"}},
		{"data template of another namespace", func(s *spec) { s.DataTemplate.Namespace = "other" },
			[]string{"spec.dataTemplate.namespace: Invalid value"}},
		{"failure domain that no label can name", func(s *spec) { s.FailureDomain = "rack 1" }, []string{"spec.failureDomain: Invalid value"}},
		{"no failure domain", func(s *spec) { s.FailureDomain = "" }, nil},
		{"label that cannot be", func(s *spec) { s.HostSelector.MatchLabels["size"] = "a b" }, []string{"spec.hostSelector.matchLabels: Invalid value"}},
		{"operator in upper case", expression("size", "NotIn", "small"), nil},
		{"absent label", expression("size", "!"), nil},
		{"unknown operator", expression("size", "like", "l"), []string{"spec.hostSelector.matchExpressions[0].operator: Unsupported value"}},
		{"operator without values", expression("size", "in"), []string{"spec.hostSelector.matchExpressions[0]: Invalid value"}},
		{"comparison with no number", expression("size", "gt", "large"), []string{"spec.hostSelector.matchExpressions[0]: Invalid value"}},
		{"key that cannot be", expression("a b", "exists"), []string{"spec.hostSelector.matchExpressions[0]: Invalid value"}},
	})
}

func TestWarnMachine(t *testing.T) {
	g := NewWithT(t)
	path := field.NewPath("spec")
	g.Expect(warnMachine(validMachine(), path)).To(BeEmpty())

	spec := validMachine()
	spec.HostSelector.MatchLabels[infrav1.FailureDomainLabel] = "rack-1"
	spec.Image.Checksum = "http://images.example.com/node.qcow2.sha256"
	g.Expect(warnMachine(spec, path)).To(ConsistOf(
		HavePrefix("spec.hostSelector.matchLabels: "), HavePrefix("spec.image.checksum: ")))
}

func newTemplate(change func(*infrav1.Metal3MachineTemplateSpec)) *infrav1.Metal3MachineTemplate {
	template := &infrav1.Metal3MachineTemplate{ObjectMeta: rulestest.Named("template")}
	template.Spec.Template.Spec = validMachine()
	template.Spec.Template.Spec.ProviderID, template.Spec.Template.Spec.FailureDomain = "", ""
	change(&template.Spec)
	return template
}

func TestValidateMachineTemplate(t *testing.T) {
	type spec = infrav1.Metal3MachineTemplateSpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   []string
	}{
		"valid":               {func(*spec) {}, nil},
		"providerID":          {func(s *spec) { s.Template.Spec.ProviderID = "metal3://a" }, []string{"spec.template.spec.providerID: Forbidden"}},
		"rule of the machine": {func(s *spec) { s.Template.Spec.Image.Checksum = "" }, []string{"spec.template.spec.image.checksum: Required value"}},
		"data templates of domains": {func(s *spec) {
			s.FailureDomainDataTemplates = []infrav1.FailureDomainDataTemplate{
				{FailureDomain: "rack-1", DataTemplate: infrav1.Metal3ObjectRef{Name: "a", Namespace: namespace}},
				{FailureDomain: "rack_", DataTemplate: infrav1.Metal3ObjectRef{Name: "a", Namespace: "other"}},
			}
		}, []string{"spec.failureDomainDataTemplates[1].failureDomain: Invalid value",
			"spec.failureDomainDataTemplates[1].dataTemplate.namespace: Invalid value"}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(rulestest.Summary(validateMachineTemplate(newTemplate(tc.change)))).To(ConsistOf(tc.want))
		})
	}
	NewWithT(t).Expect(warnMachineTemplate(newTemplate(func(s *spec) { s.Template.Spec.FailureDomain = "rack-1" }))).
		To(ConsistOf(HavePrefix("spec.template.spec.failureDomain: ")))
}

func TestMachineTemplateInTopologyDryRuns(t *testing.T) {
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
			before := newTemplate(func(*infrav1.Metal3MachineTemplateSpec) {})
			after := newTemplate(func(s *infrav1.Metal3MachineTemplateSpec) { s.Template.Spec.Image.Checksum = "other" })
			after.Annotations = tc.annotations
			_, errs, err := updateMachineTemplate(ctx, before, after)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.allowed {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(rulestest.Summary(errs)).To(ConsistOf("spec.template.spec.image.checksum: Forbidden"))
		})
	}
}
