// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
	"github.com/faultline-io/faultline/shared/testenv"
)

// eventually is more than anything takes on a busy machine.
const eventually = 2 * time.Minute

// apiServer is a real API server with our CRDs, and our webhooks in front of
// it.
type apiServer struct {
	client.Client

	warnings *warnings
}

// warnings collects what the API server warns of.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// TestAdmission proves that the API server sends every kind through its
// webhooks. The rules have tests of their own.
func TestAdmission(t *testing.T) {
	api := startAPIServer(t)
	t.Run("Metal3Cluster", func(t *testing.T) { testClusterAdmission(t, api) })
	t.Run("failure domain in use", func(t *testing.T) { testDomainInUse(t, api) })
	t.Run("Metal3ClusterTemplate", func(t *testing.T) { testClusterTemplateAdmission(t, api) })
	t.Run("Metal3Machine", func(t *testing.T) { testMachineAdmission(t, api) })
	t.Run("Metal3MachineTemplate", func(t *testing.T) { testMachineTemplateAdmission(t, api) })
	t.Run("Metal3DataTemplate", func(t *testing.T) { testDataTemplateAdmission(t, api) })
	t.Run("Metal3Data", func(t *testing.T) { testDataAdmission(t, api) })
	t.Run("Metal3DataClaim", func(t *testing.T) { testDataClaimAdmission(t, api) })
	t.Run("Metal3Remediation", func(t *testing.T) { testRemediationAdmission(t, api) })
	t.Run("every field", func(t *testing.T) { testStoredAsWritten(t, api) })
	t.Run("what upstream has stored is applied again unchanged", func(t *testing.T) { testReappliedAfterUpstream(t, api) })
	t.Run("upstream's manifests", func(t *testing.T) { testUpstreamManifests(t, api) })
	t.Run("objects that are older than a rule", func(t *testing.T) { testOlderObjects(t, api) })
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	g := NewWithT(t)

	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())

	env := testenv.Start(t, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "config"), Serve: SetupWithManager,
	})
	collected := &warnings{}
	clientConfig := rest.CopyConfig(env.Config)
	clientConfig.WarningHandlerWithContext = collected
	c, err := client.New(clientConfig, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return &apiServer{Client: c, warnings: collected}
}

// refused expects an object to be refused for exactly these causes.
func refused(g Gomega, err error, want ...string) {
	g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	g.Expect(rulestest.Causes(err)).To(ConsistOf(want))
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}
}
