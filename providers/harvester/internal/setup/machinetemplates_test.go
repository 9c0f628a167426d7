// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/setup"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func shownCapacity(status faultlinev1.MachineTemplateStatus) map[corev1.ResourceName]string {
	shown := map[corev1.ResourceName]string{}
	for name, quantity := range status.Capacity {
		shown[name] = quantity.String()
	}
	return shown
}

func TestCapacityOfMachineTemplate(t *testing.T) {
	t.Parallel()
	volume := func(size string, order int) infrav1.Volume {
		v := infrav1.Volume{BootOrder: order}
		if size != "" {
			v.VolumeSize = ptr.To(resource.MustParse(size))
		}
		return v
	}
	type shown map[corev1.ResourceName]string
	for name, tc := range map[string]struct {
		spec infrav1.HarvesterMachineSpec
		want shown
	}{
		"a volume of the size of its image": {
			infrav1.HarvesterMachineSpec{CPU: 2, Memory: "4096Mi", Volumes: []infrav1.Volume{volume("", 0), volume("100Gi", 0)}},
			shown{"cpu": "2", "memory": "4Gi"},
		},
		"the first volume boots": {
			infrav1.HarvesterMachineSpec{CPU: 2, Memory: "4Gi", Volumes: []infrav1.Volume{volume("40Gi", 0), volume("100Gi", 0)}},
			shown{"cpu": "2", "memory": "4Gi", "ephemeral-storage": "40Gi"},
		},
		"a later volume boots": {
			infrav1.HarvesterMachineSpec{CPU: 2, Memory: "4Gi", Volumes: []infrav1.Volume{volume("10Gi", 0), volume("20Gi", 2), volume("30Gi", 1)}},
			shown{"cpu": "2", "memory": "4Gi", "ephemeral-storage": "30Gi"},
		},
		"no volumes, which a ClusterClass adds": {infrav1.HarvesterMachineSpec{CPU: 2, Memory: "4Gi"}, shown{"cpu": "2", "memory": "4Gi"}},
		"values that an older webhook accepted": {infrav1.HarvesterMachineSpec{Memory: "much"}, shown{}},
		"less than nothing": {
			infrav1.HarvesterMachineSpec{CPU: 1, Memory: "-1Gi", Volumes: []infrav1.Volume{volume("-1Gi", 0)}}, shown{"cpu": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			template := &infrav1.HarvesterMachineTemplate{}
			template.Spec.Template.Spec = tc.spec
			got, err := setup.MachineTemplateStatus(t.Context(), template)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shown(shownCapacity(got))).To(Equal(tc.want))
		})
	}
}

// The cluster autoscaler reads the status in the version that the API server prefers, or that an old MachineDeployment names.
func TestMachineTemplateShowsCapacityInEveryVersion(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, 1)
	template := &infrav1.HarvesterMachineTemplate{ObjectMeta: w.meta("workers")}
	template.Spec.Template.Spec = machineSpec()
	w.create(template)
	want := map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi", "ephemeral-storage": "10Gi"}
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(shownCapacity(template.Status)).To(Equal(want))
	}).Should(Succeed())
	older := &v1alpha1.HarvesterMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: template.Name}}
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(older), older)).To(Succeed())
	w.Expect(shownCapacity(older.Status)).To(Equal(want))
	w.Expect(older.Status.NodeInfo).To(Equal(faultlinev1.NodeInfo{Architecture: "amd64", OperatingSystem: "linux"}))
}
