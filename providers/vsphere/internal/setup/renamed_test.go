// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestAnnotationsUnderFormerNamesAreReadAndRenamed(t *testing.T) {
	t.Parallel()
	const thumbprint, hash, creating = "faultline.io/thumbprint", "faultline.io/metadata-hash", "faultline.io/creating-cluster-module"
	w, cluster := newFixtureWithModules(t)
	w.waitForProvisioned(w.worker("node"))
	vm := w.vsphereVM("node")
	was := vm.Annotations
	w.Expect(was).To(And(HaveKey(thumbprint), HaveKey(hash)))
	w.stop()
	corrected := strings.ToLower(vm.Spec.Thumbprint)
	update(w, vm, func(vm *infrav1.VSphereVM) {
		for _, name := range []string{thumbprint, hash} {
			metav1.SetMetaDataAnnotation(&vm.ObjectMeta, faultlinev1.FormerName(name), vm.Annotations[name])
			delete(vm.Annotations, name)
		}
		vm.Spec.Thumbprint = corrected
	})
	update(w, cluster, func(cluster *infrav1.VSphereCluster) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, faultlinev1.FormerName(creating), "not JSON, which is removed")
	})
	w.start()
	w.Eventually(func() map[string]string { return w.vsphereVM("node").Annotations }).Should(Equal(was))
	w.Eventually(func() map[string]string { w.get(cluster); return cluster.Annotations }).ShouldNot(Or(
		HaveKey(creating), HaveKey(faultlinev1.FormerName(creating))))
	w.remove(w.worker("later")) // the VSphereMachine of the first one is reconciled meanwhile
	w.Expect(w.vsphereVM("node").Spec.Thumbprint).To(Equal(corrected), "a thumbprint that was copied once is not copied again")
}
