// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

func TestOfAControlPlaneTheCacheKeepsWhatIsReadOfIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kcp := &controlplanev1.KubeadmControlPlane{}
	kcp.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
	kcp.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": ""}
	kcp.Spec.Version = "v1.34.0"
	spec := &kcp.Spec.KubeadmConfigSpec
	spec.Files = []bootstrapv1.File{{Path: "/etc/kubernetes/manifests/kube-vip.yaml", Content: "long"}}
	spec.ClusterConfiguration.Etcd.External.Endpoints = []string{"https://etcd.example"}
	kcp.Status.Deprecated = &controlplanev1.KubeadmControlPlaneDeprecatedStatus{}
	kcp.Status.Conditions = []metav1.Condition{{Type: "Available"}}
	options := &cache.Options{}
	StripObjects(options)
	var strip toolscache.TransformFunc
	for kind, how := range options.ByObject {
		if _, ok := kind.(*controlplanev1.KubeadmControlPlane); ok {
			strip = how.Transform
		}
	}
	after, err := strip(kcp)
	g.Expect(err).NotTo(HaveOccurred())

	want := &controlplanev1.KubeadmControlPlane{}
	want.Annotations = map[string]string{"kept": ""}
	want.Spec.Version, want.Status.Conditions = "v1.34.0", []metav1.Condition{{Type: "Available"}}
	want.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External.Endpoints = []string{"https://etcd.example"}
	g.Expect(after).To(Equal(want))

	other := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{}}, "spec": map[string]any{"replicas": int64(3)}}}
	g.Expect(strip(other)).To(HaveField("Object", HaveKey("spec")), "as others read it")
	g.Expect(strip(toolscache.DeletedFinalStateUnknown{Key: "a"})).To(Equal(toolscache.DeletedFinalStateUnknown{Key: "a"}))
}
