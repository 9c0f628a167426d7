// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/shared/rules"
)

func TestWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	written, err := rules.NewValidators(clusterv1.AddToScheme, rules.Webhooks[*clusterv1.Machine]{
		Validate: func(machine *clusterv1.Machine) field.ErrorList {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterName"), machine.Spec.ClusterName, "in "+machine.Namespace)}
		},
	}, rules.Webhooks[*clusterv1.MachineSet]{})
	g.Expect(err).NotTo(HaveOccurred())
	object := func(kind, version string, spec any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/" + version, "kind": kind, "spec": spec}}
		o.SetNamespace("here")
		return o
	}
	errs, err := written.Errors(t.Context(), object("Machine", "v1beta2", map[string]any{"clusterName": "c"}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(errs.ToAggregate()).To(MatchError(`spec.clusterName: Invalid value: "c": in here`))
	for _, kind := range []string{"Cluster", "MachineSet"} {
		g.Expect(written.Errors(t.Context(), object(kind, "v1beta2", nil))).To(BeEmpty(), "a kind without rules")
	}
	_, err = written.Errors(t.Context(), object("Machine", "v1alpha1", nil))
	g.Expect(err).To(MatchError("Machine is not served in cluster.x-k8s.io/v1alpha1, only in cluster.x-k8s.io/v1beta2"))
	_, err = written.Errors(t.Context(), object("Machine", "v1beta2", "text"))
	g.Expect(err).To(HaveOccurred(), "an object of another kind")
}
