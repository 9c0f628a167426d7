// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// announced lists the ways in which a program declares that it scales a MachineDeployment, with its name.
func announced() map[string]func(*clusterv1.MachineDeployment) {
	annotated := func(name, value string) func(*clusterv1.MachineDeployment) {
		return func(md *clusterv1.MachineDeployment) { metav1.SetMetaDataAnnotation(&md.ObjectMeta, name, value) }
	}
	return map[string]func(*clusterv1.MachineDeployment){
		"the cluster autoscaler": annotated("cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size", "12"),
		"Karpenter":              func(md *clusterv1.MachineDeployment) { md.Labels["node.cluster.x-k8s.io/karpenter-member"] = "" },
		"rancher":                annotated(faultlinev1.ScaledByAnnotation, "rancher"),
		"another program":        annotated(faultlinev1.ScaledByAnnotation, ""),
	}
}

func TestExternallyScaledMachineDeployment(t *testing.T) {
	t.Parallel()
	for name, announce := range announced() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, deleteOne())
			w.domains("a b")
			w.scale("md", 6)
			r := w.reconciler(api)
			w.reconcile(r)
			w.exist()
			change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, false, announce)
			w.domains("a b c")
			w.replenish("md")
			w.reconcile(r)
			w.Expect(w.machines("md")).To(HaveLen(6))
			w.Expect(w.workers().Plan).To(BeEmpty())
			w.Expect(w.balanced().Status).To(Equal(metav1.ConditionTrue))
			w.Expect(w.balanced().Message).To(ContainSubstring("MachineDeployment md is scaled by " + name + ", which chooses its machines: 2 would have to move to balance it, and none is moved"))
			w.Expect(w.marked("md")).To(BeEmpty())
			w.domains("a!Evicting b c")
			w.moveAll(r)
			w.Expect(w.placed("md", domain)).NotTo(HaveKey("a"), "an evicted domain is emptied")
		})
	}
}
