// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
)

func TestCacheKeepsRequiredFields(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	options := cache.Options{}
	hosts.CacheOptions(&options)
	g.Expect(options.ByObject).To(HaveLen(1))
	kept := bmh(annotated("mine"), manageable(metav1.ConditionFalse, bmov1alpha1.PowerFailureReason), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.Online, host.Spec.BootMACAddress, host.Spec.BMC.CredentialsName = true, "00:00:00:00:00:b0", "bmc"
		host.Spec.Image = &bmov1alpha1.Image{URL: "http://image"}
		host.Spec.ConsumerRef = &corev1.ObjectReference{Name: "machine"}
		host.Status.OperationalStatus, host.Status.ErrorMessage, host.Status.PoweredOn = bmov1alpha1.OperationalStatusError, "broken", true
		host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{
			Hostname: "h", NIC: []bmov1alpha1.NIC{{Name: "eno1", MAC: "00:00:00:00:00:01", IP: "10.0.0.1"}},
			CPU: bmov1alpha1.CPU{Arch: "x86_64", Count: 32}, RAMMebibytes: 65536, Storage: []bmov1alpha1.Storage{{SizeBytes: 240 * bmov1alpha1.GigaByte}},
		}
	})
	whole := kept.DeepCopy()
	whole.Status.Conditions[0].LastTransitionTime, whole.Status.Conditions[0].Message = metav1.Now(), "m"
	whole.Status.Conditions = append(whole.Status.Conditions, metav1.Condition{Type: bmov1alpha1.HealthyCondition, Status: metav1.ConditionUnknown})
	whole.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	whole.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	whole.Spec.Description = "third from below"
	whole.Status.HardwareDetails.NIC[0].Model, whole.Status.HardwareDetails.CPU.Model = "m", "c"
	whole.Status.HardwareDetails.Storage = []bmov1alpha1.Storage{
		{Name: "/dev/sda", SizeBytes: 480 * bmov1alpha1.GigaByte}, {Name: "/dev/sdb", SizeBytes: 240 * bmov1alpha1.GigaByte, Model: "d"}}
	whole.Status.Provisioning.Image.URL, whole.Status.GoodCredentials.Version = "http://image", "1"
	hinted := whole.DeepCopy()
	hinted.Spec.RootDeviceHints = &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/sda"}
	for _, by := range options.ByObject {
		stripped, err := by.Transform(whole)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(stripped).To(Equal(kept))
		stripped, err = by.Transform(hinted)
		g.Expect(err).NotTo(HaveOccurred())
		kept.Status.HardwareDetails.Storage = nil
		g.Expect(stripped).To(Equal(kept), "hints may select any disk, so its size is not known")
	}
}

// The manager shares the annotations of cached objects, and the cache transforms objects twice after a relist.
func TestTransformedTwiceLeavesSharedAnnotations(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	options := cache.Options{}
	hosts.CacheOptions(&options)
	shared := map[string]string{"a": "b"}
	applied := map[string]string{"a": "b", corev1.LastAppliedConfigAnnotation: "{}"}
	for _, by := range options.ByObject {
		ended := make(chan string)
		go func() { ended <- shared["a"] }() // The race detector reports a write of the same map.
		_, err := by.Transform(bmh(func(host *bmov1alpha1.BareMetalHost) { host.Annotations = shared }))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(<-ended).To(Equal("b"))
		_, err = by.Transform(bmh(func(host *bmov1alpha1.BareMetalHost) { host.Annotations = applied }))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(applied).To(HaveLen(2))
	}
}
