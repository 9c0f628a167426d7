// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestDrained(t *testing.T) {
	t.Parallel()
	pod := func(change func(*corev1.Pod)) []corev1.Pod {
		p := corev1.Pod{}
		change(&p)
		return []corev1.Pod{p}
	}
	tolerates := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeOutOfService, Operator: corev1.TolerationOpExists}}
	}
	attached := func(node string) []storagev1.VolumeAttachment {
		return []storagev1.VolumeAttachment{{Spec: storagev1.VolumeAttachmentSpec{NodeName: node}}}
	}
	for name, tc := range map[string]struct {
		pods        []corev1.Pod
		attachments []storagev1.VolumeAttachment
		want        bool
	}{
		"empty":              {want: true},
		"a Pod":              {pods: pod(func(*corev1.Pod) {})},
		"a Pod that is done": {want: true, pods: pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })},
		"an image of a file": {want: true, pods: pod(func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })},
		"a Pod that stays":   {want: true, pods: pod(tolerates)},
		"a Pod that stays everywhere": {want: true, pods: pod(func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		})},
		"a Pod that stays only while the Node is not ready": {pods: pod(func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists}}
		})},
		"a Pod that stayed and was deleted": {pods: pod(func(p *corev1.Pod) {
			tolerates(p)
			p.DeletionTimestamp = ptr.To(metav1.Now())
		})},
		"a volume":                 {attachments: attached("node")},
		"a volume of another Node": {want: true, attachments: attached("other")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(drained("node", tc.pods, tc.attachments)).To(Equal(tc.want))
		})
	}
}

func TestNeedsNode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, s := range []situation{at(""), at("Running"), at("Running", powerOffRequested), at("Waiting", off), at("Waiting", finished), at("Failed"), at("Deleting machine")} {
		g.Expect(s.needsNode()).To(BeFalse(), "%+v", s)
	}
	for _, s := range []situation{at("Running", powerOffRequested, off), at("Waiting")} {
		g.Expect(s.needsNode()).To(BeTrue(), "%+v", s)
	}
}
