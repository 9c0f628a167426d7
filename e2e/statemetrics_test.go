// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// stateMetrics is the part of kube-state-metrics' CustomResourceStateMetrics that the file uses.
type stateMetrics struct {
	Kind string `json:"kind"`
	Spec struct {
		Resources []stateResource `json:"resources"`
	} `json:"spec"`
}

type stateResource struct {
	GroupVersionKind schema.GroupVersionKind `json:"groupVersionKind"`
	MetricNamePrefix string                  `json:"metricNamePrefix"`
	LabelsFromPath   map[string][]string     `json:"labelsFromPath"`
	Metrics          []struct {
		Name string `json:"name"`
		Help string `json:"help"`
		Each struct {
			Type     string     `json:"type"`
			StateSet *stateEach `json:"stateSet,omitempty"`
			Gauge    *stateEach `json:"gauge,omitempty"`
			Info     *stateEach `json:"info,omitempty"`
		} `json:"each"`
	} `json:"metrics"`
}

// stateEach has the values of a metric. A path leads to an object, or to a list whose elements have a value each.
type stateEach struct {
	Path           []string            `json:"path"`
	LabelsFromPath map[string][]string `json:"labelsFromPath"`
	LabelName      string              `json:"labelName,omitempty"`
	ValueFrom      []string            `json:"valueFrom,omitempty"`
	List           []string            `json:"list,omitempty"`
}

// kube-state-metrics skips a path that an object does not have, so that a typo or a renamed field would only lack its metric.
func TestStateMetricsMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var config stateMetrics
	g.Expect(yaml.UnmarshalStrict([]byte(content(t, "docs/monitoring/kube-state-metrics.yaml")), &config)).To(Succeed())
	g.Expect(config.Kind).To(Equal("CustomResourceStateMetrics"))
	schemas := storedSchemas(t)
	var kinds []string
	for _, resource := range config.Spec.Resources {
		root, found := schemas[resource.GroupVersionKind]
		g.Expect(found).To(BeTrue(), "%s is not the storage version of a kind", resource.GroupVersionKind)
		g.Expect(resource.LabelsFromPath).To(HaveKeyWithValue("name", []string{"metadata", "name"}))
		g.Expect(resource.LabelsFromPath).To(HaveKeyWithValue("namespace", []string{"metadata", "namespace"}))
		kinds = append(kinds, resource.GroupVersionKind.Kind)
		for _, metric := range resource.Metrics {
			about := resource.GroupVersionKind.Kind + ", " + metric.Name
			g.Expect(metric.Help).NotTo(BeEmpty(), about)
			each := map[string]*stateEach{"StateSet": metric.Each.StateSet, "Gauge": metric.Each.Gauge, "Info": metric.Each.Info}[metric.Each.Type]
			g.Expect(each).NotTo(BeNil(), about)
			element := fieldOf(t, about, root, each.Path)
			if element.Items != nil {
				element = *element.Items.Schema
			}
			for _, path := range each.LabelsFromPath {
				g.Expect(fieldOf(t, about, element, path).Type).To(Equal("string"), about)
			}
			value := fieldOf(t, about, element, each.ValueFrom)
			switch metric.Each.Type {
			case "Gauge":
				g.Expect(value.Type).To(Equal("integer"), about)
			case "StateSet":
				g.Expect(each.List).To(ConsistOf(valuesOf(value)), about)
			}
		}
	}
	g.Expect(kinds).To(ConsistOf("VSphereCluster", "VSphereMachine", "Metal3Cluster", "Metal3Machine", "HarvesterCluster", "HarvesterMachine"))
}

// storedSchemas returns the schema of the storage version of every kind.
func storedSchemas(t *testing.T) map[schema.GroupVersionKind]apiextensionsv1.JSONSchemaProps {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join("..", "providers", "*", "config", "crd", "bases", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	schemas := map[schema.GroupVersionKind]apiextensionsv1.JSONSchemaProps{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		var crd apiextensionsv1.CustomResourceDefinition
		g.Expect(yaml.Unmarshal(content, &crd)).To(Succeed())
		for _, version := range crd.Spec.Versions {
			if version.Storage {
				schemas[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = *version.Schema.OpenAPIV3Schema
			}
		}
	}
	return schemas
}

// fieldOf returns the schema of a field.
func fieldOf(t *testing.T, about string, of apiextensionsv1.JSONSchemaProps, path []string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	for _, name := range path {
		next, found := of.Properties[name]
		NewWithT(t).Expect(found).To(BeTrue(), "%s: %s has no field %s", about, strings.Join(path, "."), name)
		of = next
	}
	return of
}

// valuesOf returns the values that a schema allows.
func valuesOf(of apiextensionsv1.JSONSchemaProps) []string {
	var values []string
	for _, value := range of.Enum {
		values = append(values, strings.Trim(string(value.Raw), `"`))
	}
	slices.Sort(values)
	return values
}
