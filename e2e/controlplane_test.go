// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/faultline-io/faultline/shared/machines"
)

func TestRebalanceSupportsTestedClusterAPIVersion(t *testing.T) {
	t.Parallel()
	_, version := clusterAPI(t)
	NewWithT(t).Expect(machines.Kubeadm{}.Facts().Tested(version)).To(BeTrue(), "%s: look at what is asked below, then change OldestTested", version)
}

// clusterAPI returns the source folder and version of the Cluster API that everything is built with.
func clusterAPI(t *testing.T) (source, version string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}\n{{.Version}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, version, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return source, version
}

// Tests the behavior of KubeadmControlPlane that rebalance needs beyond its contract: docs/decisions/cloned-from.md. If this fails with a
// new version of Cluster API, review the decision.
func TestControlPlaneReplacesMachineWithChangedClonedFromName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const group = "infrastructure.cluster.x-k8s.io"
	template := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1beta2", "kind": "GenericMachineTemplate", "metadata": map[string]any{"namespace": "ns", "name": "template"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}},
	}}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: contract.CalculateCRDName(group, "GenericMachineTemplate"), Labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2"},
	}}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, controlplanev1.AddToScheme, bootstrapv1.AddToScheme, apiextensionsv1.AddToScheme} {
		g.Expect(add(scheme)).To(Succeed())
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(template, crd).Build()

	meta := metav1.ObjectMeta{Namespace: "ns", Name: "m"}
	kcp := &controlplanev1.KubeadmControlPlane{ObjectMeta: meta}
	kcp.Spec.Version, kcp.Spec.Replicas = "v1.36.0", ptr.To[int32](3)
	kcp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "GenericMachineTemplate", Name: "template"}
	machine := &clusterv1.Machine{ObjectMeta: meta, Spec: clusterv1.MachineSpec{Version: "v1.36.0"}}
	for name, upToDate := range map[string]bool{"template": true, "template-rebalance": false} {
		infra := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1beta2", "kind": "GenericMachine"}}
		infra.SetNamespace("ns")
		infra.SetName("m")
		infra.SetAnnotations(map[string]string{
			clusterv1.TemplateClonedFromNameAnnotation: name, clusterv1.TemplateClonedFromGroupKindAnnotation: "GenericMachineTemplate." + group,
		})
		is, result, err := pkg.UpToDate(t.Context(), c, &clusterv1.Cluster{ObjectMeta: meta}, machine, kcp, ptr.To(metav1.Now()),
			map[string]*unstructured.Unstructured{"m": infra}, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(is).To(Equal(upToDate), "%s: %v", name, result)
	}
	machine.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: ""}
	plane := &pkg.ControlPlane{}
	g.Expect(plane.MachineWithDeleteAnnotation(map[string]*clusterv1.Machine{"m": machine})).To(HaveLen(1))
}
