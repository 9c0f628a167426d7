// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/release"
)

// gitOpsKinds returns the CRDs of the examples in docs/gitops.md: the operator's and Flux's own, and those of Argo CD.
func gitOpsKinds(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return []*apiextensionsv1.CustomResourceDefinition{
		crdIn(t, "sigs.k8s.io/cluster-api-operator@v0.29.0", "operator.cluster.x-k8s.io_infrastructureproviders.yaml"),
		crdIn(t, "github.com/fluxcd/source-controller@v1.7.3", "source.toolkit.fluxcd.io_ocirepositories.yaml"),
		crdIn(t, "github.com/fluxcd/helm-controller@v1.4.0", "helm.toolkit.fluxcd.io_helmreleases.yaml"),
		applications(),
	}
}

// gitOpsExamplesAreValid applies the YAML of docs/gitops.md and templates/README.md to the API server, which rejects unknown fields, and
// renders the charts with the values in it.
func gitOpsExamplesAreValid(t *testing.T, api *cluster) {
	t.Helper()
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "gitops.md"))
	g.Expect(err).NotTo(HaveOccurred())
	rancher, err := os.ReadFile(filepath.Join(root, "templates", "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	page = append(page, rancher...)
	strict := client.WithFieldValidation(api.Client, metav1.FieldValidationStrict)
	kinds, charts := map[string]int{}, providerCharts(t)
	for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllSubmatch(page, -1) {
		objects, err := managementcluster.Decode(block[1])
		g.Expect(err).NotTo(HaveOccurred())
		for _, object := range objects {
			kinds[object.GetKind()]++
			if object.GetKind() == "CAPIProvider" {
				testCAPIProvider(t, object, string(rancher))
			}
			if values := chartValues(object); values != nil {
				what := charts[strings.TrimPrefix(object.GetName(), "cluster-api-provider-")].chart
				g.Expect(renderIn(t, what, object.GetNamespace(), yamlOf(t, values))).NotTo(BeEmpty(), "its schema rejects unknown values")
			}
			if err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}}); client.IgnoreAlreadyExists(err) != nil {
				t.Fatal(err)
			}
			g.Expect(strict.Create(t.Context(), object)).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
		}
	}
	g.Expect(kinds).To(Equal(map[string]int{"InfrastructureProvider": 1, "CAPIProvider": 1, "Application": 2, "OCIRepository": 1, "HelmRelease": 1}))
}

// testCAPIProvider compares the object of Rancher Turtles with the commands before it, and turns it into the operator's object of the same
// fields: Turtles adds spec.name, spec.type and spec.variables.
func testCAPIProvider(t *testing.T, object *unstructured.Unstructured, page string) {
	t.Helper()
	g := NewWithT(t)
	spec := object.Object["spec"].(map[string]any)
	version, name := spec["version"].(string), spec["name"].(string)
	selected, _, err := unstructured.NestedStringMap(spec, "fetchConfig", "selector", "matchLabels")
	g.Expect(err).NotTo(HaveOccurred())
	label := "kubectl label configmap " + name + "-" + version + " -n " + object.GetNamespace() + " provider.cluster.x-k8s.io/version=" + version
	for key, value := range selected {
		g.Expect(page).To(ContainSubstring(label+" "+key+"="+value), "the ConfigMap has the labels of fetchConfig")
	}
	manager, err := os.ReadFile(filepath.Join(root, "providers", name, "config", "manager", "manager.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for variable := range spec["variables"].(map[string]any) {
		g.Expect(string(manager)).To(ContainSubstring("${" + variable + ":="))
	}
	g.Expect(spec["type"]).To(Equal("infrastructure"))
	for _, own := range []string{"name", "type", "variables"} {
		delete(spec, own)
	}
	object.SetAPIVersion("operator.cluster.x-k8s.io/v1alpha2")
	object.SetKind("InfrastructureProvider")
}

// chartValues returns the values of a chart that an Application or a HelmRelease has, nil if it has none.
func chartValues(object *unstructured.Unstructured) map[string]any {
	for _, path := range [][]string{{"spec", "source", "helm", "valuesObject"}, {"spec", "values"}} {
		if values, found, _ := unstructured.NestedMap(object.Object, path...); found {
			return values
		}
	}
	return nil
}

// TestComponentsFitIntoAConfigMap is for the operator, which reads them from there.
func TestComponentsFitIntoAConfigMap(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := release.Release{Release: docker.Release{Version: "v2.0.0"}, Root: root, Out: t.TempDir()}
	_, err := r.Write()
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob(filepath.Join(r.Out, "infrastructure-*", "v2.0.0", "infrastructure-components.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(3))
	for _, file := range files {
		info, err := os.Stat(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Size()).To(BeNumerically("<", 1<<20-(16<<10)), file)
	}
}

// crdIn returns a CRD of a module.
func crdIn(t *testing.T, module, file string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	g := NewWithT(t)
	find := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	find.Dir = t.TempDir()
	out, err := find.Output()
	g.Expect(err).NotTo(HaveOccurred(), "%s: %s", module, out)
	text, err := os.ReadFile(filepath.Join(mustParse(t, string(out))["Dir"].(string), "config", "crd", "bases", file))
	g.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(sigsyaml.Unmarshal(text, crd)).To(Succeed())
	return crd
}

// applications returns a CRD of Argo CD with the fields that the examples use, because its module has 250 MB.
func applications() *apiextensionsv1.CustomResourceDefinition {
	type schema = apiextensionsv1.JSONSchemaProps
	object := func(properties map[string]schema) schema { return schema{Type: "object", Properties: properties} }
	list := func(items schema) schema {
		return schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}}
	}
	text, boolean := schema{Type: "string"}, schema{Type: "boolean"}
	all := object(map[string]schema{"spec": object(map[string]schema{
		"project": text,
		"source": object(map[string]schema{"repoURL": text, "chart": text, "path": text, "targetRevision": text,
			"helm": object(map[string]schema{"valuesObject": {Type: "object", XPreserveUnknownFields: ptr.To(true)}})}),
		"destination": object(map[string]schema{"server": text, "namespace": text}),
		"syncPolicy":  object(map[string]schema{"automated": object(map[string]schema{"prune": boolean}), "syncOptions": list(text)}),
		"ignoreDifferences": list(object(map[string]schema{"group": text, "kind": text, "name": text, "namespace": text,
			"jsonPointers": list(text), "jqPathExpressions": list(text), "managedFieldsManagers": list(text)})),
	})})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "applications.argoproj.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "argoproj.io", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "applications", Singular: "application", Kind: "Application", ListKind: "ApplicationList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &all},
			}},
		},
	}
}
