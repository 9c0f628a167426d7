// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/release"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/e2e/charts"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/testenv"
)

const (
	root      = "../.."
	namespace = "harvester-system"
	// timeout is longer than anything here takes on a busy machine.
	timeout = time.Minute
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, kubevirtv1.AddToScheme, lbv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// cluster is an API server into which charts are installed.
type cluster struct {
	client.Client
	config *rest.Config
	env    *envtest.Environment
}

func newCluster(t *testing.T, crds ...*apiextensionsv1.CustomResourceDefinition) *cluster {
	t.Helper()
	s := scheme(t)
	env := testenv.Start(t, testenv.Options{Scheme: s, CRDs: crds})
	return &cluster{Client: clientOf(t, env, s), config: env.Config, env: env}
}

func clientOf(t *testing.T, env *envtest.Environment, s *runtime.Scheme) client.Client {
	t.Helper()
	c, err := client.New(env.Config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// helm returns the configuration of helm's actions for the cluster.
func (c *cluster) helm(t *testing.T, namespace string) *action.Configuration {
	t.Helper()
	configuration, err := charts.Helm(c.config, namespace, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	return configuration
}

func (c *cluster) install(t *testing.T, namespace, name string, what *chart.Chart, values map[string]any) (*release.Release, error) {
	t.Helper()
	install := action.NewInstall(c.helm(t, namespace))
	install.ReleaseName, install.Namespace, install.CreateNamespace = name, namespace, true
	return install.RunWithContext(t.Context(), what, values)
}

func (c *cluster) upgrade(t *testing.T, namespace, name string, what *chart.Chart, values map[string]any) (*release.Release, error) {
	t.Helper()
	upgrade := action.NewUpgrade(c.helm(t, namespace))
	upgrade.Namespace = namespace
	return upgrade.RunWithContext(t.Context(), name, what, values)
}

func (c *cluster) uninstall(t *testing.T, namespace, name string) error {
	t.Helper()
	_, err := action.NewUninstall(c.helm(t, namespace)).Run(name)
	return err
}

func load(t *testing.T, name string) *chart.Chart {
	t.Helper()
	c, err := charts.Load(root, name, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// made returns a chart with one template, for objects of third parties.
func made(t *testing.T, name, template string) *chart.Chart {
	t.Helper()
	c, err := loader.LoadFiles([]*loader.BufferedFile{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n")},
		{Name: "templates/all.yaml", Data: []byte(template)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// makePool creates a pool as soon as the API server serves the kind.
func (c *cluster) makePool(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	pool := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "loadbalancer.harvesterhci.io/v1beta1", "kind": "IPPool",
		"metadata": map[string]any{"name": "theirs"},
		"spec":     map[string]any{"ranges": []any{map[string]any{"subnet": "192.168.41.0/24"}}},
	}}
	NewWithT(t).Eventually(func() error { return c.Create(t.Context(), pool.DeepCopy()) }, timeout).Should(Succeed())
	return pool
}

// definitions returns the CRDs as in Harvester's own chart, which deletes them with the release.
func definitions(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, file := range load(t, loadBalancer).Files {
		if strings.HasPrefix(file.Name, "files/crds/") {
			all.WriteString("\n---\n")
			all.Write(file.Data)
		}
	}
	return all.String()
}
