// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/controller/vspheremachine"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// interceptingReader runs functions in the middle of a reconcile.
type interceptingReader struct {
	client.Client
	zoneRead, vmMade func() // nil does nothing
}

func (i *interceptingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := i.Client.Get(ctx, key, o, opts...)
	if _, zone := o.(*infrav1.VSphereDeploymentZone); zone && i.zoneRead != nil {
		i.zoneRead()
	}
	return err
}

func (i *interceptingReader) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if _, vm := o.(*infrav1.VSphereVM); vm && i.vmMade != nil {
		i.vmMade()
	}
	return i.Client.Create(ctx, o, opts...)
}

// assign assigns a machine, as it was read, to a zone.
func assign(w *fixture, machine *infrav1.VSphereMachine, zone string) error {
	after := machine.DeepCopy()
	after.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: zone}
	return w.client.Patch(w.t.Context(), after, client.MergeFromWithOptions(machine, client.MergeFromWithOptimisticLock{}))
}

func TestAssignmentIsRevokedBeforeCreationOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	zones := w.threeZones()
	infra := w.cluster("one", spreads(func(*faultlinev1.WorkersDistribution) {}))
	w.waitForCondition(infra, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	w.stop() // the test plays its controllers
	machine := w.workers(1, 1)[0]
	through := &interceptingReader{Client: w.client}
	r := &vspheremachine.Reconciler{Client: through, Live: w.client, Recorder: events.NewFakeRecorder(100)}
	reconcile := func() {
		t.Helper()
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(machine)})
		w.Expect(err).NotTo(HaveOccurred())
		w.get(machine)
	}
	vms := func() []infrav1.VSphereVM {
		list := &infrav1.VSphereVMList{}
		w.Expect(w.client.List(t.Context(), list, client.InNamespace(w.name))).To(Succeed())
		return list.Items
	}
	reconcile() // it waits, with its finalizer

	w.Expect(assign(w, machine, zones[0].Name)).To(Succeed())
	through.zoneRead = func() {
		through.zoneRead = nil
		w.get(machine)
		w.Expect(assign(w, machine, zones[1].Name)).To(Succeed())
	}
	reconcile()
	w.Expect(through.zoneRead).To(BeNil())
	w.Expect(vms()).To(BeEmpty(), "the machine was reassigned before its creation")

	seen := machine.DeepCopy()
	through.vmMade = func() {
		through.vmMade = nil
		w.Expect(apierrors.IsConflict(assign(w, seen, zones[2].Name))).To(BeTrue(), "who has seen nothing of the place takes it back too late")
		w.get(seen)
		w.Expect(placement.VSphere{}.Location(seen).Exists).To(BeTrue(), "and sees it when looking again")
	}
	reconcile()
	w.Expect(through.vmMade).To(BeNil())
	w.Expect(vms()).To(HaveExactElements(HaveField("Spec.Placement.FailureDomain", zones[1].Name)))
}
