// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/release"
)

// credentials are the values that the vSphere provider's chart requires.
const credentials = `variables: {VSPHERE_USERNAME: user, VSPHERE_PASSWORD: secret, VSPHERE_SERVER: vcenter}`

// providerCharts returns the chart of each provider, with the values that it requires.
func providerCharts(t *testing.T) map[string]struct {
	chart  *chart.Chart
	values string
} {
	t.Helper()
	all := map[string]struct {
		chart  *chart.Chart
		values string
	}{}
	for provider, values := range map[string]string{"vsphere": credentials, "metal3": "", "harvester": ""} {
		c, err := release.Release{Release: docker.Release{Version: "v2.0.0"}, Root: root}.Chart(provider)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		all[provider] = struct {
			chart  *chart.Chart
			values string
		}{c, values}
	}
	return all
}

// yamlOf returns values as YAML.
func yamlOf(t *testing.T, values map[string]any) string {
	t.Helper()
	text, err := sigsyaml.Marshal(values)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// renderIn renders a chart in a namespace.
func renderIn(t *testing.T, what *chart.Chart, namespace, values string) rendered {
	t.Helper()
	install := action.NewInstall(&action.Configuration{})
	install.ReleaseName, install.Namespace, install.DryRun, install.ClientOnly = what.Name(), namespace, true, true
	install.KubeVersion = &chartutil.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	made, err := install.Run(what, mustParse(t, values))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	all, err := objects(made.Manifest)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return all
}

func TestProviderChartInstallsWhatClusterctlInstalls(t *testing.T) {
	t.Parallel()
	for provider, c := range providerCharts(t) {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ours := components(t, filepath.Join(provider, "config/default"))
			namespace := ""
			for _, object := range ours {
				if object.GetKind() == "Namespace" {
					namespace = object.GetName()
				}
			}
			charted := renderIn(t, c.chart, namespace, c.values)
			g.Expect(charted).To(HaveLen(len(ours) - 1))
			for _, want := range ours {
				if want.GetKind() == "Namespace" {
					continue
				}
				got := charted.find(want.GetKind(), want.GetName())
				g.Expect(got).NotTo(BeNil(), "%s %s", want.GetKind(), want.GetName())
				if want.GetKind() == "CustomResourceDefinition" {
					g.Expect(got.GetLabels()).To(HaveKeyWithValue("clusterctl.cluster.x-k8s.io", ""), "clusterctl move finds its objects")
					g.Expect(got.GetAnnotations()).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
					got.SetLabels(want.GetLabels())
					got.SetAnnotations(want.GetAnnotations())
				}
				g.Expect(yamlOf(t, got.Object)).To(Equal(yamlOf(t, want.Object)))
			}
		})
	}
}

func TestProviderChartValues(t *testing.T) {
	t.Parallel()
	for provider, c := range providerCharts(t) {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			values := mustParse(t, c.values)
			for name, value := range mustParse(t, `{image: {registry: registry:5000/team, tag: v2.0.1, pullPolicy: Always}, imagePullSecrets: [{name: a}], replicas: 3,
				resources: {limits: {memory: 2Gi}}, goMemoryLimit: 1843MiB, extraArgs: [--sync-period=5m], crds: {keep: false}}`) {
				values[name] = value
			}
			if provider == "vsphere" {
				delete(values, "variables")
				values["secrets"] = map[string]any{"create": false}
			}
			all := renderIn(t, c.chart, "elsewhere", yamlOf(t, values))
			var manager *appsv1.Deployment
			for _, object := range all {
				g.Expect(object.GetNamespace()).To(BeElementOf("", "elsewhere"))
				switch object.GetKind() {
				case "Deployment":
					manager = get[appsv1.Deployment](t, all, "Deployment", object.GetName())
				case "CustomResourceDefinition":
					g.Expect(object.GetAnnotations()).NotTo(HaveKey("helm.sh/resource-policy"))
					g.Expect(object.GetAnnotations()["cert-manager.io/inject-ca-from"]).To(HavePrefix("elsewhere/"))
				case "Secret":
					g.Expect(provider).NotTo(Equal("vsphere"))
				}
			}
			pod := manager.Spec.Template.Spec
			g.Expect(*manager.Spec.Replicas).To(Equal(int32(3)))
			g.Expect(container(pod).Image).To(Equal("registry:5000/team/cluster-api-" + provider + "-controller:v2.0.1"))
			g.Expect(container(pod).ImagePullPolicy).To(Equal(corev1.PullAlways))
			limits := container(pod).Resources.Limits
			g.Expect(limits.Memory().String()).To(Equal("2Gi"))
			g.Expect(container(pod).Args).To(ContainElement("--sync-period=5m"))
			g.Expect(env(container(pod))).To(HaveKeyWithValue("GOMEMLIMIT", "1843MiB"))
			g.Expect(pod.ImagePullSecrets).To(Equal([]corev1.LocalObjectReference{{Name: "a"}}))
		})
	}
}

func TestProviderChartRejectsInvalidValues(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := providerCharts(t)
	_, err := render(all["vsphere"].chart, "")
	g.Expect(err).To(MatchError(MatchRegexp("variables.VSPHERE_(USERNAME|PASSWORD) must be set")))
	for _, values := range []string{"{replica: 3}", "{replicas: many}", "{variables: {CAPM3_FAST_TRAK: true}}", "{image: {registry: \"\"}}", "{extraArgs: [v]}"} {
		_, err := render(all["metal3"].chart, values)
		g.Expect(err).To(MatchError(ContainSubstring("values don't meet the specifications of the schema")), values)
	}
}

// providerChartsKeepCRDs installs the charts, updates and uninstalls them: the CRDs, and with them all clusters, stay.
func providerChartsKeepCRDs(t *testing.T, api *cluster) {
	t.Helper()
	g := NewWithT(t)
	for provider, c := range providerCharts(t) {
		_, err := api.install(t, provider+"-system", provider, c.chart, mustParse(t, c.values))
		g.Expect(err).NotTo(HaveOccurred(), provider)
		values := mustParse(t, c.values)
		values["replicas"] = 3
		_, err = api.upgrade(t, provider+"-system", provider, c.chart, values)
		g.Expect(err).NotTo(HaveOccurred(), provider)
		managers := &appsv1.DeploymentList{}
		g.Expect(api.List(t.Context(), managers, client.InNamespace(provider+"-system"))).To(Succeed())
		g.Expect(managers.Items).To(HaveLen(1))
		g.Expect(*managers.Items[0].Spec.Replicas).To(Equal(int32(3)))
		g.Expect(api.uninstall(t, provider+"-system", provider)).To(Succeed())
		g.Expect(apierrors.IsNotFound(api.Get(t.Context(), client.ObjectKeyFromObject(&managers.Items[0]), &appsv1.Deployment{}))).To(BeTrue())
	}
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	g.Expect(api.List(t.Context(), crds, client.HasLabels{"clusterctl.cluster.x-k8s.io"})).To(Succeed())
	g.Expect(len(crds.Items)).To(BeNumerically(">", 15), "all clusters would be deleted with them")
}
