// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// What is refused of a whole object is known to kubectl fd preflight, too.
func TestWhatIsRefusedOfObjectsIsShared(t *testing.T) {
	var refusals []rulestest.Refusal
	add := func(name, kind, called string, spec any, errs field.ErrorList) {
		refusals = append(refusals, rulestest.NewRefusal(name, rulestest.Written(t, kind, called, spec), errs))
	}
	cluster := &infrav1.Metal3Cluster{Spec: validCluster()}
	add("a cluster", "Metal3Cluster", "m", cluster.Spec, validateClusterObject(cluster))
	cluster.Spec.ControlPlaneEndpoint.Host = ""
	add("a cluster without an endpoint", "Metal3Cluster", "m", cluster.Spec, validateClusterObject(cluster))
	of := &infrav1.Metal3ClusterTemplate{}
	of.Spec.Template.Spec = validCluster()
	of.Spec.Template.Spec.FailureDomains[0].Name = "row/rack"
	add("a domain of a ClusterClass", "Metal3ClusterTemplate", "m", of.Spec,
		validateCluster(of.Spec.Template.Spec, field.NewPath("spec", "template", "spec")))

	for name, change := range map[string]func(*infrav1.Metal3MachineTemplateSpec){
		"a template":                       func(*infrav1.Metal3MachineTemplateSpec) {},
		"a template with a provider ID":    func(s *infrav1.Metal3MachineTemplateSpec) { s.Template.Spec.ProviderID = "metal3://a" },
		"a template with an image by path": func(s *infrav1.Metal3MachineTemplateSpec) { s.Template.Spec.Image.URL = "/node.qcow2" },
	} {
		template := newTemplate(change)
		add(name, "Metal3MachineTemplate", "m", template.Spec, validateMachineTemplate(template))
	}
	for name, change := range map[string]func(*infrav1.Metal3Data){
		"data":                          func(*infrav1.Metal3Data) {},
		"data of another index":         func(d *infrav1.Metal3Data) { d.Spec.Index = 1 },
		"data of a negative index":      func(d *infrav1.Metal3Data) { d.Name, d.Spec.Index = "data--1", -1 },
		"data of a foreign template":    func(d *infrav1.Metal3Data) { d.Spec.Template.Namespace = "other" },
		"data without a claim":          func(d *infrav1.Metal3Data) { d.Spec.Claim.Name = "" },
		"data of a foreign Secret":      func(d *infrav1.Metal3Data) { d.Spec.MetaData = &corev1.SecretReference{Name: "a", Namespace: "other"} },
		"data of a Secret with no name": func(d *infrav1.Metal3Data) { d.Spec.NetworkData = &corev1.SecretReference{} },
	} {
		data := newData()
		change(data)
		add(name, "Metal3Data", data.Name, data.Spec, validateData(data))
	}
	for name, to := range map[string]corev1.ObjectReference{
		"a claim": {Name: "data"}, "a claim of a foreign template": {Name: "data", Namespace: "other"}, "a claim of nothing": {},
	} {
		claim := &infrav1.Metal3DataClaim{ObjectMeta: rulestest.Named("m"), Spec: infrav1.Metal3DataClaimSpec{Template: to}}
		add(name, "Metal3DataClaim", "m", claim.Spec, validateDataClaim(claim))
	}
	rulestest.Shared(t, shared, refusals)
}
