// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Cluster API considers the machine deleted when its VSphereMachine is deleted, but its VSphereVM would remain.
func TestDeletionReadsVSphereVMLive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	now := metav1.Now()
	machine := &infrav1.VSphereMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "node", UID: "1", DeletionTimestamp: &now, Finalizers: []string{infrav1.MachineFinalizer},
	}}
	vm := &infrav1.VSphereVM{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "node", Finalizers: []string{infrav1.VMFinalizer},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereMachine", Name: "node", UID: "1"}},
	}}
	server := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(machine, vm).WithObjects(machine, vm).Build()
	r := &Reconciler{Client: &staleReader{Client: server}, Live: server, Recorder: events.NewFakeRecorder(10)}
	key := client.ObjectKeyFromObject(machine)

	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server.Get(t.Context(), key, vm)).To(Succeed())
	g.Expect(vm.DeletionTimestamp).NotTo(BeNil(), "it is deleted")
	g.Expect(server.Get(t.Context(), key, machine)).To(Succeed(), "and waited for")

	vm.Finalizers = nil
	g.Expect(server.Update(t.Context(), vm)).To(Succeed())
	r = &Reconciler{Client: server, Live: server, Recorder: events.NewFakeRecorder(10)}
	_, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(client.IgnoreNotFound(server.Get(t.Context(), key, machine))).To(Succeed())
	g.Expect(server.Get(t.Context(), key, machine)).NotTo(Succeed())
}

// staleReader is a client whose cache shows no VSphereVM.
type staleReader struct{ client.Client }

func (b *staleReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*infrav1.VSphereVM); ok {
		return apierrors.NewNotFound(infrav1.GroupVersion.WithResource("vspherevms").GroupResource(), key.Name)
	}
	return b.Client.Get(ctx, key, o, opts...)
}

func TestAMachineDoesNotTakeTheVSphereVMOfADeletedOneOfItsName(t *testing.T) {
	t.Parallel()
	machine := &infrav1.VSphereMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "node", UID: "2"}}
	for name, test := range map[string]struct {
		owner metav1.OwnerReference
		want  bool
	}{
		"its own":                     {metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereMachine", Name: "node", UID: "2"}, true},
		"its own, of an older API":    {metav1.OwnerReference{APIVersion: infrav1.GroupVersion.Group + "/v1beta1", Kind: "VSphereMachine", Name: "node", UID: "2"}, true},
		"that of the deleted machine": {metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereMachine", Name: "node", UID: "1"}, false},
		"that of another group":       {metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "VSphereMachine", Name: "node", UID: "2"}, false},
	} {
		vm := &infrav1.VSphereVM{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "node", OwnerReferences: []metav1.OwnerReference{test.owner}}}
		NewWithT(t).Expect(ownedBy(vm, machine)).To(Equal(test.want), name)
	}
}
