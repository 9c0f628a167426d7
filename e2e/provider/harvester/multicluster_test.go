// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvester

import (
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestZoneCapacityAndAddedCapacity(t *testing.T) {
	t.Parallel()
	g := integration.NewGomega(t)
	prepared, err := Provider{}.MultiCluster(os.Getenv(binaries.AssetsVariable))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(prepared.Close)
	const zone, room, added = "z", 6, 2
	cluster := &unstructured.Unstructured{Object: map[string]any{}}
	g.Expect(prepared.AddCluster(t.Context(), nil, cluster, []string{zone, "other"}, room)).To(Succeed())
	listed, _, err := unstructured.NestedSlice(cluster.Object, "spec", "failureDomains")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listed).To(ConsistOf(map[string]any{"name": zone}, map[string]any{"name": "other"}))

	s := prepared.(*multiCluster)
	for i := range room + added + 1 {
		g.Expect(s.harvester.Client().Create(t.Context(), siteMachine(zone, i))).To(Succeed())
	}
	running := func() (n int) {
		machines, err := s.Machines(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		for _, is := range machines {
			if is.Running && is.Domain == zone {
				n++
			}
		}
		return n
	}
	full := func(places int) {
		g.Eventually(running).Should(Equal(places))
		g.Consistently(running, "2s").Should(Equal(places), "kube-scheduler tries again each second")
	}
	full(room)
	g.Expect(prepared.(provider.UncountedCapacity).AddCapacity(t.Context(), zone, added)).To(Succeed())
	full(room + added)
}

// siteMachine returns a virtual machine of the usual size that is restricted to a zone.
func siteMachine(zone string, i int) *kubevirtv1.VirtualMachine {
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: vmNamespace, Name: fmt.Sprintf("m-%d", i)}}
	vm.Spec.RunStrategy = ptr.To(kubevirtv1.RunStrategyAlways)
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{Spec: kubevirtv1.VirtualMachineInstanceSpec{
		NodeSelector: map[string]string{corev1.LabelTopologyZone: zone},
		Domain: kubevirtv1.DomainSpec{CPU: &kubevirtv1.CPU{Cores: 2}, Resources: kubevirtv1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse(siteMemory), corev1.ResourceCPU: resource.MustParse("2"),
		}}},
	}}
	return vm
}
