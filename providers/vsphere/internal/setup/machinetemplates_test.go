// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/controllers"
	"github.com/faultline-io/faultline/shared/integration"
)

// machineTemplate returns a template of machines with 4 processors, 8 GiB of memory and a disk of 40 GiB.
func (w *fixture) machineTemplate(name string) *infrav1.VSphereMachineTemplate {
	template := &infrav1.VSphereMachineTemplate{ObjectMeta: w.meta(name)}
	spec := &template.Spec.Template.Spec
	spec.Template, spec.NumCPUs, spec.MemoryMiB, spec.DiskGiB = "ubuntu", 4, 8192, 40
	spec.Network.Devices = []infrav1.NetworkDeviceSpec{{NetworkName: "VM Network", DHCP4: ptr.To(true)}}
	return template
}

func capacity(cpu, memory, disk string) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	if disk != "" {
		list[corev1.ResourceEphemeralStorage] = resource.MustParse(disk)
	}
	return list
}

func TestCapacityOfMachineTemplate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec   infrav1.VirtualMachineCloneSpec
		want   corev1.ResourceList
		system string
	}{
		"the defaults of machines":               {want: capacity("2", "2Gi", "")},
		"less than a machine gets":               {spec: infrav1.VirtualMachineCloneSpec{NumCPUs: 1, MemoryMiB: 1024}, want: capacity("2", "2Gi", "")},
		"all set":                                {spec: infrav1.VirtualMachineCloneSpec{NumCPUs: 8, MemoryMiB: 16388, DiskGiB: 25}, want: capacity("8", "16388Mi", "25Gi")},
		"a linked clone keeps the template's":    {spec: infrav1.VirtualMachineCloneSpec{CloneMode: infrav1.LinkedClone, DiskGiB: 25}, want: capacity("2", "2Gi", "")},
		"Windows":                                {spec: infrav1.VirtualMachineCloneSpec{OS: infrav1.Windows}, want: capacity("2", "2Gi", ""), system: "windows"},
		"a system that the provider treats so":   {spec: infrav1.VirtualMachineCloneSpec{OS: "Photon"}, want: capacity("2", "2Gi", "")},
		"more memory than a number of bytes has": {spec: infrav1.VirtualMachineCloneSpec{MemoryMiB: 1 << 62}, want: capacity("2", "4611686018427387904Mi", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			template := &infrav1.VSphereMachineTemplate{}
			template.Spec.Template.Spec.VirtualMachineCloneSpec = tc.spec
			got, err := setup.MachineTemplateStatus(t.Context(), template)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shownCapacity(got)).To(Equal(shownCapacity(faultlinev1.MachineTemplateStatus{Capacity: tc.want})))
			if tc.system == "" {
				tc.system = "linux"
			}
			g.Expect(got.NodeInfo).To(Equal(faultlinev1.NodeInfo{Architecture: "amd64", OperatingSystem: tc.system}))
			g.Expect(got.Capacity.Memory().Sign()).To(Equal(1))
		})
	}
}

func shownCapacity(status faultlinev1.MachineTemplateStatus) map[corev1.ResourceName]string {
	shown := map[corev1.ResourceName]string{}
	for name, quantity := range status.Capacity {
		shown[name] = quantity.String()
	}
	return shown
}

// The cluster autoscaler reads the status in the version that the API server prefers, or that an old MachineDeployment names.
func TestMachineTemplateShowsCapacityInEveryVersion(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	template := w.machineTemplate("workers")
	w.create(template)
	want := map[corev1.ResourceName]string{"cpu": "4", "memory": "8Gi", "ephemeral-storage": "40Gi"}
	shown := func() map[corev1.ResourceName]string {
		return shownCapacity(w.get(template).(*infrav1.VSphereMachineTemplate).Status)
	}
	w.Eventually(shown).Should(Equal(want))
	older := &v1beta1.VSphereMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: template.Name}}
	w.get(older)
	w.Expect(shownCapacity(older.Status)).To(Equal(want))
	w.Expect(older.Status.NodeInfo).To(Equal(faultlinev1.NodeInfo{Architecture: "amd64", OperatingSystem: "linux"}))

	written := template.ResourceVersion
	updateStatus(w, template, func(template *infrav1.VSphereMachineTemplate) { template.Status.Capacity = capacity("64", "1Ti", "") })
	w.Eventually(shown).Should(Equal(want), "a status that another client has written is corrected")
	w.Expect(template.ResourceVersion).NotTo(Equal(written))
	written = template.ResourceVersion
	w.stop()
	w.start()
	later := w.machineTemplate("later")
	w.create(later)
	w.Eventually(func() corev1.ResourceList { return w.get(later).(*infrav1.VSphereMachineTemplate).Status.Capacity }).ShouldNot(BeEmpty())
	w.Expect(w.get(template).GetResourceVersion()).To(Equal(written), "an unchanged status is not written again")
}

// The controller is the same for the templates of all providers.
func TestStaleCacheOfMachineTemplateCountsWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		template := &infrav1.VSphereMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "workers", ResourceVersion: "1"}}
		sent := &integration.Requests{}
		c := sent.Counted(fake.NewClientBuilder().WithScheme(scheme).WithObjects(template).WithStatusSubresource(template).Build())
		r := &controllers.MachineTemplates[*infrav1.VSphereMachineTemplate]{
			Client: &integration.Stale{Client: c}, Empty: &infrav1.VSphereMachineTemplate{}, Status: setup.MachineTemplateStatus,
		}
		var pauses []time.Duration
		for range 5 {
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(template)})
			g.Expect(err).NotTo(HaveOccurred())
			pauses = append(pauses, result.RequeueAfter)
		}
		g.Expect(*sent).To(Equal(integration.Requests{Reads: 1, StatusWrites: 1}))
		g.Expect(pauses).To(Equal([]time.Duration{0, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond}))
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(template.Status.Capacity).NotTo(BeEmpty())
	})
}

func TestMachineTemplateOfPausedClusterKeepsItsStatus(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.threeZones()
	w.cluster("c")
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("c")}
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	owned, paused, others := w.machineTemplate("owned"), w.machineTemplate("paused"), w.machineTemplate("others")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c", UID: cluster.UID}}
	paused.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	others.Labels = nil // another manager's
	free := w.machineTemplate("free")
	shown := func(template *infrav1.VSphereMachineTemplate) func() corev1.ResourceList {
		return func() corev1.ResourceList { return w.get(template).(*infrav1.VSphereMachineTemplate).Status.Capacity }
	}
	w.Eventually(func() bool { return ptr.Deref(w.get(cluster).(*clusterv1.Cluster).Spec.Paused, false) }).Should(BeTrue())
	w.create(owned, paused, others, free)
	w.Eventually(shown(free)).ShouldNot(BeEmpty())
	for _, template := range []*infrav1.VSphereMachineTemplate{owned, paused, others} {
		w.Consistently(shown(template)).WithTimeout(300*time.Millisecond).Should(BeEmpty(), template.Name)
	}
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil })
	update(w, paused, func(template *infrav1.VSphereMachineTemplate) { template.Annotations = nil })
	w.Eventually(shown(owned)).ShouldNot(BeEmpty())
	w.Eventually(shown(paused)).ShouldNot(BeEmpty())
	w.Expect(shown(others)()).To(BeEmpty())
}
