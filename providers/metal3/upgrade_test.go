// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
	"github.com/faultline-io/faultline/shared/testenv"
)

// TestManagerReplacesUpstream simulates kubectl apply of the components over upstream's: upstream's Pod still runs while ours
// starts, and objects of every kind are stored in v1beta1.
func TestManagerReplacesUpstream(t *testing.T) {
	g, ctx := integration.NewGomega(t), t.Context()
	components, err := testenv.Render(ctx, "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	env, c := startAPIServer(t, nil)
	components.InstallRights(t, c)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "controller-leader-election-capm3", Namespace: components.Manager.Namespace},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("upstream"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}
	g.Expect(c.Create(ctx, lease)).To(Succeed())
	components.StoredIn(t, c, "v1beta1", "v1beta2")
	testenv.RunManager(t, env, components, "--leader-elect=true", "--leader-elect-retry-period=100ms", "--metrics-bind-addr=localhost:8080")

	for _, object := range rulestest.Objects(t, filepath.Join("api", "v1beta1", "testdata")) {
		object.SetNamespace(namespace)
		g.Eventually(func() error { return c.Create(ctx, object.DeepCopy()) }).Should(Succeed(), "it serves webhooks, and converts %s", object.GetKind())
	}
	template := &infrav1.Metal3DataTemplate{}
	g.Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "stored"}, template)).To(Succeed())
	g.Expect(template.Finalizers).To(BeEmpty(), "upstream's manager is at work")

	g.Expect(c.Delete(ctx, lease)).To(Succeed())
	components.AwaitStoredIn(t, c, integration.Timeout, "v1beta2")
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
	g.Expect(lease.Spec.HolderIdentity).NotTo(HaveValue(Equal("upstream")))
}
