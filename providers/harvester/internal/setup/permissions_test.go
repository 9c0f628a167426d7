// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// restrictAccount gives the test an account that may read cluster-scoped objects, do anything in the test's namespace, and read namespace
// default.
func (w *fixture) restrictAccount() {
	w.t.Helper()
	all := []string{"*"}
	may := func(verbs ...string) func(string, ...string) rbacv1.PolicyRule {
		return func(group string, resources ...string) rbacv1.PolicyRule {
			return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
		}
	}
	sees, reads := may("get", "list", "watch"), may("get", "list")
	sim.Grant(w.name, []rbacv1.PolicyRule{
		sees("", "nodes"), sees("storage.k8s.io", "storageclasses"), sees(lbv1.GroupVersion.Group, "ippools"),
	}, "")
	sim.Grant(w.name, []rbacv1.PolicyRule{
		reads("harvesterhci.io", "virtualmachineimages", "keypairs"), reads("k8s.cni.cncf.io", "network-attachment-definitions"),
	}, "default")
	w.identity(sim.KubeconfigFor(w.name, []rbacv1.PolicyRule{{APIGroups: all, Resources: all, Verbs: all}}, w.name))
}

func TestMissingNamespacePermissionDelaysOnlyItsMachines(t *testing.T) {
	t.Parallel()
	w := newFixtureWithoutManager(t)
	w.host("h", zoneName(1))
	w.restrictAccount()
	w.start()
	cluster := w.cluster("c")
	runs := w.machine("c", "runs", zoneName(1))
	w.waitForProvisioned(runs)
	w.waitForReason(runs, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)

	wrong := w.machine("c", "wrong", zoneName(1), func(_ *clusterv1.Machine, infra *infrav1.HarvesterMachine) {
		infra.Spec.Networks = []string{"other-ns/vlan"}
	})
	w.Expect(w.waitForReason(wrong, infrav1.InfrastructureReadyCondition, infrav1.HarvesterAccessDeniedReason)).To(And(
		ContainSubstring(`cannot get resource "network-attachment-definitions"`), ContainSubstring(`in the namespace "other-ns"`),
		ContainSubstring("grant it there")))
	other := w.cluster("wrong", func(cluster *infrav1.HarvesterCluster) { cluster.Spec.TargetNamespace = "other-ns" })
	elsewhere := w.machine("wrong", "elsewhere", zoneName(1))
	w.Expect(w.waitForReason(elsewhere, infrav1.InfrastructureReadyCondition, infrav1.HarvesterAccessDeniedReason)).To(And(
		ContainSubstring(`cannot list resource "virtualmachines"`), ContainSubstring(`in the namespace "other-ns"`)))

	w.waitForReason(other, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterAccessDeniedReason)
	w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionReadyReason)

	// The denied kinds have enqueued all machines. Those that do not need these kinds are not blocked.
	w.waitForProvisioned(w.machine("c", "next", zoneName(1)))
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(runs), runs)).To(Succeed())
	w.Expect(conditions.IsTrue(runs, infrav1.InfrastructureReadyCondition)).To(BeTrue(), "%s", integration.Describe(runs))
	w.remove(runs)
	w.remove(wrong)
	w.Expect(w.machinesOnHarvester()).To(HaveLen(1))
}
