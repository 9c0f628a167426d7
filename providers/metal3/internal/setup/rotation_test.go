// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// controlPlane creates the owner of reusable machines, with this current template.
func (f *fixture) controlPlane(template string) {
	f.t.Helper()
	kcp := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
		"metadata": map[string]any{"namespace": f.name, "name": "kcp"},
		"spec": map[string]any{"version": "v1.36.0", "machineTemplate": map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{
			"apiGroup": infrav1.GroupVersion.Group, "kind": "Metal3MachineTemplate", "name": template,
		}}}},
	}}
	f.create(kcp)
}

// machineTemplate creates a template that keeps hosts for reuse, or sets a data template for machines in rack-1.
func (f *fixture) machineTemplate(name string, reuse bool, dataTemplate string) *infrav1.Metal3MachineTemplate {
	f.t.Helper()
	template := &infrav1.Metal3MachineTemplate{ObjectMeta: f.meta(name), Spec: infrav1.Metal3MachineTemplateSpec{
		NodeReuse: ptr.To(reuse),
		Template: infrav1.Metal3MachineTemplateResource{Spec: infrav1.Metal3MachineSpec{
			Image: infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123"},
		}},
	}}
	if dataTemplate != "" {
		template.Spec.FailureDomainDataTemplates = []infrav1.FailureDomainDataTemplate{
			{FailureDomain: "rack-1", DataTemplate: infrav1.Metal3ObjectRef{Name: dataTemplate}},
		}
	}
	f.create(template)
	return template
}

func (f *fixture) rotateAway(template *infrav1.Metal3MachineTemplate) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), template)).To(Succeed())
	f.waitForDeletion(template)
}

func TestNodeReuseAfterTemplateRotation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		current, kept bool
	}{
		"the current template keeps hosts":         {true, true},
		"the current template does not keep hosts": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, simulator.Racks(1, 1))
			f.cluster("one", "rack-1")
			machine := f.machine("one", "cp-0", "rack-1", reusable(f))
			f.waitForProvisioned(machine)
			f.machineTemplate("current", tc.current, "")
			f.controlPlane("current")
			f.rotateAway(&infrav1.Metal3MachineTemplate{ObjectMeta: f.meta("template")})
			f.deleteMachine(machine)
			if tc.kept {
				f.Expect(f.host(rack1).Labels).To(HaveKeyWithValue(infrav1.NodeReuseLabel, "cp-kcp"))
			} else {
				f.Expect(f.host(rack1).Labels).NotTo(HaveKey(infrav1.NodeReuseLabel))
			}
		})
	}
}

func TestNodeReuseOfMachineDeployment(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	_, cloned := f.template("former")
	machine := f.machine("one", "worker-0", "rack-1", cloned, func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		machine.Labels[clusterv1.MachineDeploymentNameLabel] = "workers"
	})
	f.waitForProvisioned(machine)
	f.machineTemplate("current", true, "")
	f.create(&clusterv1.MachineDeployment{ObjectMeta: f.meta("workers"), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: "one", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		Template: clusterv1.MachineTemplateSpec{ObjectMeta: clusterv1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: clusterv1.MachineSpec{
			ClusterName: "one", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "Metal3MachineTemplate", Name: "current",
			},
		}},
	}})
	f.deleteMachine(machine)
	f.Expect(f.host(rack1).Labels).To(HaveKeyWithValue(infrav1.NodeReuseLabel, "md-workers"))
}

func TestDataTemplateAfterTemplateRotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 0))
	f.cluster("one", "rack-1")
	f.dataTemplate("everywhere")
	f.dataTemplate("only-rack-1")
	f.machineTemplate("current", false, "only-rack-1")
	f.controlPlane("current")
	ours := reusable(f)
	machine := f.machine("one", "cp-0", "rack-1", usesData("everywhere"), ours)
	f.waitForReason(machine, infrav1.FailureDomainWithoutHostsReason)
	f.rotateAway(&infrav1.Metal3MachineTemplate{ObjectMeta: f.meta("template")})
	f.hosts(simulator.Racks(1, 1))
	f.waitForProvisioned(machine)
	f.Expect(machine.Status.RenderedData.Name).To(Equal("only-rack-1-0"))
}

func TestMissingTemplateBlocksClaim(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	f.dataTemplate("everywhere")
	f.dataTemplate("only-rack-1")
	machine := f.machine("one", "cp-0", "rack-1", usesData("everywhere"), func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations = map[string]string{
			clusterv1.TemplateClonedFromNameAnnotation: "late", clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.MachineTemplateGroupKind,
		}
	})
	f.Expect(f.waitForReason(machine, infrav1.Metal3MachineTemplateNotFoundReason)).To(ContainSubstring("Metal3MachineTemplate late"))
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
	f.machineTemplate("late", false, "only-rack-1")
	update(f, machine, func(machine *infrav1.Metal3Machine) {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, "test/again", "1")
	})
	f.waitForProvisioned(machine)
	f.Expect(machine.Status.RenderedData.Name).To(Equal("only-rack-1-0"))
	f.Expect(client.IgnoreNotFound(f.client.Delete(t.Context(), machine))).To(Succeed())
	f.waitForDeletion(machine)
}
