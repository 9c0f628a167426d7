// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

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
	t.Run("VSphereCluster", func(t *testing.T) { testClusterAdmission(t, api) })
	t.Run("VSphereClusterTemplate", func(t *testing.T) { testClusterTemplateAdmission(t, api) })
	t.Run("VSphereClusterIdentity", func(t *testing.T) { testIdentityAdmission(t, api) })
	t.Run("VSphereMachine", func(t *testing.T) { testMachineAdmission(t, api) })
	t.Run("VSphereMachineTemplate", func(t *testing.T) { testMachineTemplateAdmission(t, api) })
	t.Run("VSphereVM", func(t *testing.T) { testVMAdmission(t, api) })
	t.Run("VSphereFailureDomain", func(t *testing.T) { testFailureDomainAdmission(t, api) })
	t.Run("VSphereDeploymentZone", func(t *testing.T) { testZoneAdmission(t, api) })
	t.Run("objects that are older than a rule", func(t *testing.T) { testOlderObjects(t, api) })
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	g := NewWithT(t)
	ctrl.SetLogger(logr.Discard())

	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())

	config := filepath.Join("..", "..", "config")
	env := &envtest.Environment{
		Scheme: scheme,
		CRDDirectoryPaths: []string{
			filepath.Join(config, "crd", "bases"),
			filepath.Join(moduleDir(t, "sigs.k8s.io/cluster-api"), "core", "config", "crd", "bases", "cluster.x-k8s.io_machines.yaml"),
		},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			Paths: []string{filepath.Join(config, "webhook", "manifests.yaml")},
		},
	}
	restConfig, err := env.Start()
	g.Expect(err).NotTo(HaveOccurred(), "KUBEBUILDER_ASSETS must name a folder with etcd and kube-apiserver")
	t.Cleanup(func() { g.Expect(env.Stop()).To(Succeed()) })
	serve(t, restConfig, env)

	collected := &warnings{}
	clientConfig := rest.CopyConfig(restConfig)
	clientConfig.WarningHandlerWithContext = collected
	c, err := client.New(clientConfig, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return &apiServer{Client: c, warnings: collected}
}

// serve runs a manager with the webhooks until the test ends, and waits until
// it answers.
func serve(t *testing.T, config *rest.Config, env *envtest.Environment) {
	t.Helper()
	g := NewWithT(t)
	options := env.WebhookInstallOptions
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  env.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
		}),
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(SetupWithManager(mgr)).To(Succeed())

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-done).To(Succeed())
	})
	started := mgr.GetWebhookServer().StartedChecker()
	g.Eventually(func() error { return started(nil) }).WithTimeout(eventually).Should(Succeed())
}

// moduleDir is where the go command keeps a module that we require.
func moduleDir(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(out))
}

// refused expects an object to be refused for exactly these causes, and each
// message to tell what to do.
func refused(g Gomega, err error, want ...string) {
	g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	g.Expect(rulestest.Causes(err)).To(ConsistOf(want))
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}
}

func clusterScoped(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name}
}
