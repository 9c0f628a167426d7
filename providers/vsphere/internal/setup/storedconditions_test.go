// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// relaxCRD makes the API server store conditions without reason and message, as with an older CRD.
func (w *fixture) relaxCRD(crd string, store func(conditionType string, opts ...client.SubResourcePatchOption) error) {
	w.t.Helper()
	installed := &apiextensionsv1.CustomResourceDefinition{}
	key := client.ObjectKey{Name: crd + "." + infrav1.GroupVersion.Group}
	require := func(fields ...string) {
		w.Eventually(func(g Gomega) {
			g.Expect(w.client.Get(w.t.Context(), key, installed)).To(Succeed())
			for i := range installed.Spec.Versions {
				if version := &installed.Spec.Versions[i]; version.Name == infrav1.GroupVersion.Version {
					status := version.Schema.OpenAPIV3Schema.Properties["status"]
					status.Properties["conditions"].Items.Schema.Required = fields
				}
			}
			g.Expect(w.client.Update(w.t.Context(), installed)).To(Succeed())
		}).Should(Succeed())
	}
	require("type", "status", "lastTransitionTime")
	w.Eventually(func() error { return store("example.com/Other") }).Should(Succeed())
	require("type", "status", "lastTransitionTime", "reason", "message")
	w.Eventually(func() error { return store("example.com/Probe", client.DryRunAll) }).ShouldNot(Succeed(), "the schema is in force again")
}

// Upstream's release 1.16 served VSphereClusterIdentity in two versions without a conversion. Its storage migration wrote
// v1beta1 conditions, which have no reason, as v1beta2 conditions. The test changes a CRD, so it does not run in parallel.
func TestUpstreamIdentityWithoutReasons(t *testing.T) { //nolint:paralleltest // see above
	w := newFixture(t, simulator.ThreeZones())
	w.stop()
	identity := w.identity("shared", &infrav1.AllowedNamespaces{})
	w.relaxCRD("vsphereclusteridentities", func(conditionType string, opts ...client.SubResourcePatchOption) error {
		return w.client.Status().Patch(t.Context(), identity.DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"ready":true,"conditions":[
			{"type":"Ready","status":"True","lastTransitionTime":"2025-01-01T00:00:00Z"},
			{"type":"CredentialsAvailable","status":"True","lastTransitionTime":"2025-01-01T00:00:00Z"},
			{"type":%q,"status":"True","lastTransitionTime":"2025-01-01T00:00:00Z"}]}}`, conditionType)), opts...)
	})
	w.start()
	w.waitForCondition(identity, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentityAvailableReason)
	w.Expect(conditions.Has(identity, clusterv1.ReadyCondition)).To(BeFalse(), "nothing sets it any more")
	w.Expect(conditions.Has(identity, "CredentialsAvailable")).To(BeFalse(), "it is one of v1beta1")
	w.Expect(conditions.GetReason(identity, "example.com/Other")).To(Equal(conditions.NoReasonReported), "it belongs to another controller")
}
