// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// probed is forbidden by every quota here, which shows when the API server enforces one.
const probed corev1.ResourceName = "count/configmaps"

// Quota allows the given number of further objects of a resource in a namespace, and no ConfigMap. It returns when the API server
// enforces it. It sets the usage in the status, which otherwise a controller manager would count.
func (u User) Quota(namespace string, of corev1.ResourceName, more int64) *corev1.ResourceQuota {
	u.T.Helper()
	none := *resource.NewQuantity(0, resource.DecimalSI)
	hard := corev1.ResourceList{of: *resource.NewQuantity(more, resource.DecimalSI), probed: none}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tight"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}
	u.G.Expect(u.Client.Create(u.T.Context(), quota)).To(gomega.Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{of: none, probed: none}}
	u.G.Expect(u.Client.Status().Update(u.T.Context(), quota)).To(gomega.Succeed())
	u.G.Eventually(func() error {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}
		return u.Client.Create(u.T.Context(), probe, client.DryRunAll)
	}).Should(gomega.MatchError(gomega.ContainSubstring("exceeded quota: " + quota.Name)))
	return quota
}
