// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1alpha1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	networkv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
	"github.com/faultline-io/faultline/shared/testenv"
)

// TestAdmission sends both kinds through their webhooks and conversion with a real API server.
func TestAdmission(t *testing.T) {
	api := startAPIServer(t)
	network(t, api, "vlan1", nil, `{"cniVersion":"0.3.1","type":"bridge","vlan":1}`)
	t.Run("upstream's cases", func(t *testing.T) { testUpstreamCases(t, api) })
	t.Run("upstream's conversion", func(t *testing.T) { testUpstreamConversion(t, api) })
	t.Run("the samples of the proposal", func(t *testing.T) { testSamples(t, api) })
	t.Run("what the documentation shows", func(t *testing.T) { testDocumented(t, api) })
	t.Run("the labels of a pool follow its spec", func(t *testing.T) { testPoolLabels(t, api) })
	t.Run("a pool keeps addresses that are held", func(t *testing.T) { testHeldAddresses(t, api) })
	t.Run("a pool that is older than a rule", func(t *testing.T) { testOlderPools(t, api) })
	t.Run("what may surprise of a pool", func(t *testing.T) { testPoolWarnings(t, api) })
	t.Run("location of a load balancer", func(t *testing.T) { testPlace(t, api) })
	t.Run("a load balancer is of its namespace's project", func(t *testing.T) { testProject(t, api) })
	t.Run("VLAN of a load balancer", func(t *testing.T) { testVLAN(t, api) })
	t.Run("the rules of a load balancer", func(t *testing.T) { testLoadBalancerRules(t, api) })
	t.Run("the status of a new load balancer", func(t *testing.T) { testNewStatus(t, api) })
	t.Run("one value where a list belongs", func(t *testing.T) { testSingleValues(t, api) })
	t.Run("zero values", func(t *testing.T) {
		api.StayAsWritten(t, "testdata/zero-values", v1alpha1.GroupVersion, lbv1.GroupVersion)
	})
	t.Run("a client of v1alpha1 loses nothing", func(t *testing.T) { testOlderClient(t, api) })
}

func startAPIServer(t *testing.T) *rulestest.APIServer {
	t.Helper()
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, kubevirtv1.AddToScheme, networkv1.AddToScheme, lbv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		g.Expect(add(scheme)).To(Succeed())
	}
	crds, err := simulator.CRDs()
	g.Expect(err).NotTo(HaveOccurred())
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == lbv1.GroupVersion.Group
	})
	return rulestest.StartAPIServer(t, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "..", "config", "loadbalancer"), CRDs: crds, Serve: SetupWithManager, Conversion: true,
	})
}

// network creates a network in the namespace default.
func network(t *testing.T, api *rulestest.APIServer, name string, labels map[string]string, config string) {
	t.Helper()
	NewWithT(t).Expect(api.Create(t.Context(), &networkv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Labels: labels},
		Spec:       networkv1.NetworkAttachmentDefinitionSpec{Config: config},
	})).To(Succeed())
}
