// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func shownCapacity(status faultlinev1.MachineTemplateStatus) map[corev1.ResourceName]string {
	shown := map[corev1.ResourceName]string{}
	for name, quantity := range status.Capacity {
		shown[name] = quantity.String()
	}
	return shown
}

// The capacity of a template is the least of the hosts that its host selector matches. It follows their hardware and labels.
func TestMachineTemplateShowsTheLeastHardwareOfItsHosts(t *testing.T) {
	t.Parallel()
	f := newStaticFixture(t)
	f.hosts(simulator.Racks(1, 3))
	list := &bmov1alpha1.BareMetalHostList{}
	f.Expect(f.client.List(t.Context(), list)).To(Succeed())
	names := []string{}
	for i := range list.Items {
		if list.Items[i].Namespace == f.name {
			names = append(names, list.Items[i].Name)
		}
	}
	f.Expect(names).To(HaveLen(3))
	f.start()
	all, _ := f.template("any")
	small := &infrav1.Metal3MachineTemplate{ObjectMeta: f.meta("small"), Spec: *all.Spec.DeepCopy()}
	small.Spec.Template.Spec.HostSelector.MatchLabels = map[string]string{"size": "small"}
	f.create(small)
	shown := func(template *infrav1.Metal3MachineTemplate) func() map[corev1.ResourceName]string {
		return func() map[corev1.ResourceName]string {
			return shownCapacity(f.get(template).(*infrav1.Metal3MachineTemplate).Status)
		}
	}
	standard := map[corev1.ResourceName]string{"cpu": "32", "memory": "64Gi", "ephemeral-storage": "468750000Ki"}
	f.Eventually(shown(all)).Should(Equal(standard))
	f.Expect(all.Status.NodeInfo).To(Equal(faultlinev1.NodeInfo{Architecture: "amd64", OperatingSystem: "linux"}))
	older := &v1beta1.Metal3MachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: f.name, Name: all.Name}}
	f.get(older)
	f.Expect(shownCapacity(older.Status)).To(Equal(standard), "the version of older clients shows it, too")
	f.Eventually(func() string { return f.get(small).(*infrav1.Metal3MachineTemplate).Status.NodeInfo.OperatingSystem }).Should(Equal("linux"))
	f.Expect(small.Status.Capacity).To(BeEmpty(), "no host matches")

	updateStatus(f, f.host(names[1]), func(host *bmov1alpha1.BareMetalHost) {
		host.Status.HardwareDetails.CPU.Count, host.Status.HardwareDetails.RAMMebibytes = 16, 32<<10
	})
	less := map[corev1.ResourceName]string{"cpu": "16", "memory": "32Gi", "ephemeral-storage": "468750000Ki"}
	f.Eventually(shown(all)).Should(Equal(less))
	update(f, f.host(names[1]), func(host *bmov1alpha1.BareMetalHost) { host.Labels["size"] = "small" })
	f.Eventually(shown(small)).Should(Equal(less))
	update(f, f.host(names[1]), func(host *bmov1alpha1.BareMetalHost) { delete(host.Labels, "size") })
	f.Eventually(shown(small)).Should(BeEmpty())
	f.Expect(f.client.Delete(t.Context(), f.host(names[1]))).To(Succeed())
	f.Eventually(shown(all)).Should(Equal(standard), "the small host is gone")
}
