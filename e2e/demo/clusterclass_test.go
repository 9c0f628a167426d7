// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"strings"
	"testing"
	"text/template"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// ofKind returns the only object of its kind.
func ofKind(t *testing.T, objects []*unstructured.Unstructured, kind string) map[string]any {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == kind {
			return object.Object["spec"].(map[string]any)
		}
	}
	t.Fatalf("%s not found", kind)
	return nil
}

// values returns the values of a cluster's variables, with the defaults of the class.
func values(class, cluster map[string]any) map[string]any {
	given := map[string]any{}
	for _, each := range cluster["topology"].(map[string]any)["variables"].([]any) {
		variable := each.(map[string]any)
		given[variable["name"].(string)] = variable["value"]
	}
	for _, each := range class["variables"].([]any) {
		variable := each.(map[string]any)
		schema := variable["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		name := variable["name"].(string)
		if given[name] == nil {
			given[name] = schema["default"]
		}
		fields, isStruct := given[name].(map[string]any)
		if !isStruct {
			continue
		}
		for field, of := range schema["properties"].(map[string]any) {
			if fields[field] == nil {
				fields[field] = of.(map[string]any)["default"]
			}
		}
	}
	return given
}

// patched returns the result of a patch of the class for the variables.
func patched(t *testing.T, class map[string]any, patch string, variables map[string]any) map[string]any {
	t.Helper()
	g := NewWithT(t)
	variables["builtin"] = map[string]any{"cluster": map[string]any{"name": "demo", "namespace": "default"}}
	for _, each := range class["patches"].([]any) {
		if each.(map[string]any)["name"] != patch {
			continue
		}
		definition := each.(map[string]any)["definitions"].([]any)[0].(map[string]any)
		text := definition["jsonPatches"].([]any)[0].(map[string]any)["valueFrom"].(map[string]any)["template"].(string)
		parsed, err := template.New(patch).Parse(text)
		g.Expect(err).NotTo(HaveOccurred())
		out := &strings.Builder{}
		g.Expect(parsed.Execute(out, variables)).To(Succeed())
		value := map[string]any{}
		g.Expect(yaml.UnmarshalStrict([]byte(out.String()), &value)).To(Succeed(), out.String())
		return value
	}
	t.Fatalf("patch %s not found", patch)
	return nil
}

func TestClusterClassWithAndWithoutZones(t *testing.T) {
	files := templateFiles(t, "vsphere")
	class := func() map[string]any {
		return ofKind(t, filled(t, files["clusterclass-faultline-vsphere.yaml"]), "ClusterClass")
	}
	region := map[string]any{"matchLabels": map[string]any{"topology.kubernetes.io/region": "region-1"}}
	for file, tc := range map[string]struct {
		selects      any
		has, lacking []string
	}{
		"cluster-template-zones-topology.yaml": {selects: region, has: []string{"template"}, lacking: []string{"datastore", "folder", "resourcePool", "storagePolicyName"}},
		"cluster-template-topology.yaml":       {has: []string{"template", "datastore", "resourcePool"}, lacking: []string{"folder", "storagePolicyName"}},
	} {
		g := NewWithT(t)
		variables := values(class(), ofKind(t, filled(t, files[file]), "Cluster"))
		cluster, machine := patched(t, class(), "cluster", variables), patched(t, class(), "machines", variables)
		if tc.selects == nil {
			g.Expect(cluster).NotTo(HaveKey("failureDomainSelector"), file)
		} else {
			g.Expect(cluster).To(HaveKeyWithValue("failureDomainSelector", tc.selects), file)
		}
		for _, field := range tc.has {
			g.Expect(machine).To(HaveKey(field), file)
		}
		for _, field := range tc.lacking {
			g.Expect(machine).NotTo(HaveKey(field), file)
		}
		variables["region"], variables["failureDomainSelector"] = "", "{matchLabels: {topology.kubernetes.io/region: region-1}}"
		variables["machine"].(map[string]any)["storagePolicyName"] = "vSAN Default Storage Policy"
		g.Expect(patched(t, class(), "cluster", variables)).To(HaveKeyWithValue("failureDomainSelector", region), file)
		g.Expect(patched(t, class(), "machines", variables)).To(HaveKeyWithValue("storagePolicyName", "vSAN Default Storage Policy"), file)
	}
}
