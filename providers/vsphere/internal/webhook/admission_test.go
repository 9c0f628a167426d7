// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
	"github.com/faultline-io/faultline/shared/testenv"
)

// TestAdmission verifies that the API server sends every kind through its webhooks. The validation rules have their own tests.
func TestAdmission(t *testing.T) {
	api := startAPIServer(t)
	t.Run("VSphereCluster", func(t *testing.T) { testClusterAdmission(t, api) })
	t.Run("VSphereClusterTemplate", func(t *testing.T) { testClusterTemplateAdmission(t, api) })
	t.Run("VSphereClusterIdentity", func(t *testing.T) { testIdentityAdmission(t, api) })
	t.Run("VSphereMachine", func(t *testing.T) { testMachineAdmission(t, api) })
	t.Run("VSphereMachineTemplate", func(t *testing.T) { testMachineTemplateAdmission(t, api) })
	t.Run("VSphereVM", func(t *testing.T) { testVMAdmission(t, api) })
	t.Run("storage of a VSphereMachine", func(t *testing.T) { testStorageAdmission(t, api) })
	t.Run("VSphereFailureDomain", func(t *testing.T) { testFailureDomainAdmission(t, api) })
	t.Run("VSphereDeploymentZone", func(t *testing.T) { testZoneAdmission(t, api) })
	t.Run("objects that are older than a rule", func(t *testing.T) { testOlderObjects(t, api) })
	t.Run("objects of v1beta1", func(t *testing.T) { testOlderVersion(t, api) })
	t.Run("zero values", func(t *testing.T) {
		api.StayAsWritten(t, "testdata/zero-values", v1beta1.GroupVersion, infrav1.GroupVersion)
	})
	t.Run("upstream's manifests", func(t *testing.T) { testUpstreamManifests(t, api) })
	t.Run("templates", func(t *testing.T) { testTemplates(t, api) })
}

// wire is the folder of objects with every field set.
var wire = filepath.Join("..", "..", "api", "v1beta2", "testdata")

func startAPIServer(t *testing.T) *rulestest.APIServer {
	t.Helper()
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	return rulestest.StartAPIServer(t, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "config"), ClusterAPI: true, ControlPlane: true, Serve: SetupWithManager, Conversion: true,
	})
}

func clusterScoped(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name}
}
