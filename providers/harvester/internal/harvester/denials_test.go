// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
)

func TestWhatTheAccountMayNotSeeIsRefusedToWhoAsksForItAndForgottenWhenNobodyDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connections.Silence = time.Second
	all := []string{"*"}
	w.identity(sim.KubeconfigFor(w.namespace, []rbacv1.PolicyRule{{APIGroups: all, Resources: all, Verbs: all}}, w.namespace))
	who := w.asker(harvester.Machine, "m")
	conn := w.connected(who)
	list := func(namespace string) error {
		return conn.List(t.Context(), &kubevirtv1.VirtualMachineList{}, client.InNamespace(namespace))
	}
	w.Eventually(func() *harvester.Problem { return harvester.Denied(list("other")) }).ShouldNot(BeNil())
	problem := harvester.Denied(list("other"))
	w.Expect(problem.Reason).To(Equal(infrav1.HarvesterAccessDeniedReason))
	w.Expect(problem.Message).To(And(ContainSubstring(`cannot list resource "virtualmachines"`), ContainSubstring(`namespace "other"`)))
	w.Expect(conn.Trouble()).To(Equal(problem))

	w.Eventually(func() error { return list(w.namespace) }).Should(Succeed())
	w.Expect(conn.Stale()).To(BeNil(), "what it may see is as it is on Harvester")
	before := w.wakes(who)
	w.Eventually(conn.Trouble).Should(BeNil())
	w.Expect(w.wakes(who)).To(BeNumerically(">=", before+2), "who needs it still is given the time to say so, and hears that it is forgotten")
	w.Expect(list(w.namespace)).To(Succeed())

	w.Eventually(func() *harvester.Problem { return harvester.Denied(list("other")) }).Should(Equal(problem), "it can be asked for again")
	sim.Grant(w.namespace, []rbacv1.PolicyRule{{APIGroups: all, Resources: all, Verbs: all}}, "")
	w.Eventually(func() error { return list("other") }).Should(Succeed())
	w.Expect(conn.Trouble()).To(BeNil())
}
