// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// testOlderObjects stores objects from before the validation existed, which would be rejected now, and checks that they can still
// be updated and deleted.
func testOlderObjects(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	machine := &infrav1.Metal3Machine{ObjectMeta: rulestest.Named("older")}
	machine.Finalizers = []string{infrav1.MachineFinalizer}
	cluster := &infrav1.Metal3Cluster{ObjectMeta: rulestest.Named("older"), Spec: validCluster()}
	cluster.Spec.FailureDomains[0].Name = "rack 1"
	cluster.Finalizers = []string{infrav1.ClusterFinalizer}
	api.Without(t, func() {
		g.Expect(api.Create(ctx, machine)).To(Succeed())
		g.Expect(api.Create(ctx, cluster)).To(Succeed())
	}, validated(t, api), defaulted(t, api))
	machine.Spec.ProviderID = "metal3://default/host-1/older"
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "the controller can set what it has to")
	machine.Spec.ProviderID = "host-1"
	rulestest.Rejected(g, api.Update(ctx, machine.DeepCopy()), "spec.providerID: Invalid value")
	cluster.Spec.ControlPlaneEndpoint.Port = 443
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "what is wrong already may stay")

	for _, object := range []client.Object{machine, cluster} {
		g.Expect(api.Delete(ctx, object)).To(Succeed())
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		object.SetFinalizers(nil)
		g.Expect(api.Update(ctx, object)).To(Succeed(), "the finalizer can be taken off")
	}
}

func validated(t *testing.T, api *rulestest.APIServer) func() bool {
	t.Helper()
	return func() bool {
		return api.Create(t.Context(), &infrav1.Metal3Machine{ObjectMeta: rulestest.Named("probe")}, client.DryRunAll) != nil
	}
}

func defaulted(t *testing.T, api *rulestest.APIServer) func() bool {
	t.Helper()
	return func() bool {
		remediation := &infrav1.Metal3Remediation{ObjectMeta: rulestest.Named("probe")}
		return api.Create(t.Context(), remediation, client.DryRunAll) == nil && remediation.Spec.Strategy.Type != ""
	}
}
