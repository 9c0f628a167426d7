// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvestermachine_test

import (
	"encoding/base64"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// startWithVMRejected creates a machine that has an address and a Secret, and whose virtual machine is rejected. allow ends the
// rejection.
func (w *fixture) startWithVMRejected(pool string) (infra *infrav1.HarvesterMachine, allow func()) {
	w.t.Helper()
	quota := integration.User{T: w.t, G: w.WithT, Client: w.harvester}.Quota(w.name, "count/virtualmachines.kubevirt.io", 0)
	infra = w.machine("a", "zone-1", fromPools(pool))
	w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.VirtualMachineRefusedReason)
	w.Expect(w.listOnHarvester(&corev1.SecretList{})).To(HaveField("Items", HaveLen(1)))
	w.Expect(w.allocated(pool)).To(HaveLen(1))
	return infra, func() {
		w.t.Helper()
		w.Expect(w.harvester.Delete(w.t.Context(), quota)).To(Succeed())
	}
}

func TestCreateAfterRestartBetweenSecretAndVirtualMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	pool := w.pool("one", 12)
	infra, allow := w.startWithVMRejected(pool)
	stop()
	address := w.latest(infra).Status.AllocatedIPAddress
	data := &corev1.Secret{ObjectMeta: w.meta("bootstrap")}
	newer := []byte("#cloud-config\nruncmd: [newer]\n")
	integration.Update(w.user(), data, integration.Whole, func(data *corev1.Secret) { data.Data["value"] = newer })
	allow()
	w.start()
	w.Expect(w.waitForProvisioned(infra).Status.AllocatedIPAddress).To(Equal(address))
	w.Expect(w.allocated(pool)).To(HaveLen(1))
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{})).To(HaveField("Items", HaveLen(1)))
	secrets := w.listOnHarvester(&corev1.SecretList{}).(*corev1.SecretList).Items
	w.Expect(secrets).To(HaveLen(1))
	w.Expect(string(secrets[0].Data["userdata"])).To(ContainSubstring(base64.StdEncoding.EncodeToString(newer)), "nothing had read the older")
}

// A manager is stopped during the deletion, and the next one continues from that state.
func TestDeletionCompletesAfterRestart(t *testing.T) {
	t.Parallel()
	terminating := func(w *fixture, infra *infrav1.HarvesterMachine) {
		w.hold(infra, controllerutil.AddFinalizer)
		w.delete(infra)
		w.Eventually(func() bool { return w.vm(infra).DeletionTimestamp.IsZero() }).Should(BeFalse())
	}
	for i, tc := range []struct {
		name string
		// before brings the machine to the state in which the first manager is stopped. while runs before the next manager starts, and
		// after while it runs.
		before, while, after func(*fixture, *infrav1.HarvesterMachine)
	}{
		{name: "the virtual machine is Terminating", before: terminating, after: func(w *fixture, infra *infrav1.HarvesterMachine) {
			w.Consistently(func() bool { return w.vm(infra).DeletionTimestamp.IsZero() }).Should(BeFalse())
			w.hold(infra, controllerutil.RemoveFinalizer)
		}},
		{name: "volume, Secret and address are left", before: terminating, while: func(w *fixture, infra *infrav1.HarvesterMachine) {
			w.hold(infra, controllerutil.RemoveFinalizer)
			w.Eventually(func() client.ObjectList { return w.listOnHarvester(&kubevirtv1.VirtualMachineInstanceList{}) }).Should(HaveField("Items", BeEmpty()))
			w.Expect(w.claims()).To(HaveLen(1))
		}},
		{name: "the volume is left", before: func(w *fixture, infra *infrav1.HarvesterMachine) {
			w.attach(infra)
			w.delete(infra)
			w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)
		}, while: func(w *fixture, infra *infrav1.HarvesterMachine) {
			w.Expect(w.harvester.Delete(w.t.Context(), w.foreignVM("other"))).To(Succeed())
			w.Eventually(func() client.ObjectList { return w.listOnHarvester(&kubevirtv1.VirtualMachineList{}) }).Should(HaveField("Items", BeEmpty()))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			stop := w.start()
			pool := w.pool("one", byte(13+i))
			infra := w.machine("a", "zone-1", fromPools(pool))
			w.waitForProvisioned(infra)
			tc.before(w, infra)
			stop()
			if tc.while != nil {
				tc.while(w, infra)
			}
			w.start()
			if tc.after != nil {
				tc.after(w, infra)
			}
			w.waitForDeletion(infra)
			w.expectNothingLeft(pool)
		})
	}
}

func TestDeleteAfterRestartBetweenSecretAndVirtualMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	pool := w.pool("one", 16)
	infra, _ := w.startWithVMRejected(pool)
	stop()
	w.delete(infra)
	w.start()
	w.waitForDeletion(infra)
	w.expectNothingLeft(pool)
}
