// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/providers/harvester/internal/setup"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
	"github.com/faultline-io/faultline/shared/testenv"
)

func TestMetadataHasEveryReleaseSeriesOfUpstream(t *testing.T) {
	testenv.CheckMetadata(t, testenv.Series{Major: 0, First: 1, Minors: 10, V1Beta2: 3})
}

// TestDeploymentCanBeAppliedOverUpstreams compares the immutable fields with upstream's, and the lease with which one manager waits for
// the other.
func TestDeploymentCanBeAppliedOverUpstreams(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(components.Manager.Namespace + "/" + components.Manager.Name).To(Equal("caphv-system/caphv-controller-manager"))
	g.Expect(components.Manager.Spec.Selector).To(Equal(&metav1.LabelSelector{MatchLabels: map[string]string{"control-plane": "controller-manager"}}))
	g.Expect(components.Manager.Spec.Template.Labels).To(And(
		HaveKeyWithValue("control-plane", "controller-manager"), HaveKeyWithValue("cluster.x-k8s.io/provider", "infrastructure-harvester")))
	g.Expect(provider(&manager.Options{}, setup.Options{}).LeaderElectionID).To(Equal("1e1658d6.cluster.x-k8s.io"))
}

// TestStorageVersionMigration applies the components over upstream's, as kubectl apply
// does.
func TestStorageVersionMigration(t *testing.T) {
	g := integration.NewGomega(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	env, c := startAPIServer(t, nil)
	components.InstallRights(t, c)
	components.StoredIn(t, c, "v1alpha1", "v1beta1")
	testenv.RunManager(t, env, components)
	for _, object := range rulestest.Objects(t, filepath.Join("api", "v1beta1", "testdata")) {
		object.SetNamespace(namespace)
		g.Eventually(func() error { return c.Create(t.Context(), object.DeepCopy()) }).Should(Succeed(), object.GetKind())
	}
	components.AwaitStoredIn(t, c, integration.Timeout, "v1beta1")
}
