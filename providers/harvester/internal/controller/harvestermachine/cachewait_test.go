// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/status"
)

func TestCacheWait(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	created := func(status metav1.ConditionStatus, ago time.Duration) *scope {
		infra := &infrav1.HarvesterMachine{}
		infra.Status.Conditions = []metav1.Condition{{
			Type: infrav1.MachineCreatedCondition, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
		}}
		return &scope{infra: infra}
	}
	g.Expect(created(metav1.ConditionTrue, time.Second).cacheWait(now)).To(Equal(cacheTimeout - time.Second))
	g.Expect(created(metav1.ConditionTrue, cacheTimeout).cacheWait(now)).To(BeZero())
	g.Expect(created(metav1.ConditionFalse, time.Second).cacheWait(now)).To(BeZero(), "the condition reports that it does not exist")
	g.Expect((&scope{infra: &infrav1.HarvesterMachine{}}).cacheWait(now)).To(BeZero(), "its status was lost with a move")
}

func TestUnprovisionedMessage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &scope{infra: &infrav1.HarvesterMachine{}, infraCluster: &infrav1.HarvesterCluster{}, vmi: &kubevirtv1.VirtualMachineInstance{}}
	status.False(s.infra, infrav1.VMRunningCondition, infrav1.VMNotRunningReason, "")
	g.Expect(s.unprovisionedMessage()).To(HavePrefix("Waiting for VirtualMachine"))
	status.True(s.infra, infrav1.VMRunningCondition, infrav1.VMRunningReason)
	g.Expect(s.unprovisionedMessage()).To(ContainSubstring("its guest agent reports none"))
}

func TestFailedFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, now := &Reconciler{}, time.Now()
	one, other := client.ObjectKey{Name: "one"}, client.ObjectKey{Name: "other"}
	g.Expect(r.failedFor(one, now)).To(BeZero())
	g.Expect(r.failedFor(one, now.Add(time.Minute))).To(Equal(time.Minute))
	g.Expect(r.failedFor(other, now.Add(time.Minute))).To(BeZero())
	r.failingSince.Delete(one)
	g.Expect(r.failedFor(one, now.Add(time.Hour))).To(BeZero())
}
