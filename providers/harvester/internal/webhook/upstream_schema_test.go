// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// upstreamField is one field of an upstream kind. The entry of the kind itself has no path, but describes how it is served.
type upstreamField struct {
	Kind, Version, Path, Type string
	Enum                      []string
	Required                  bool

	Group, Plural, Scope               string
	Served, Storage, StatusSubresource bool
	ShortNames                         []string
	Columns                            [][]string
}

// ourField is one field of Faultline's kinds.
type ourField struct {
	apiextensionsv1.JSONSchemaProps

	required bool
}

// Faultline accepts what upstream's CRDs accept: every field has the same name and type, and no additional field is required.
func TestSchemaAcceptsUpstreamObjects(t *testing.T) {
	g := NewWithT(t)
	ours, compared := schemas(t), 0
	for _, theirs := range upstreamFields(t) {
		fields, known := ours[theirs.Kind+"/"+theirs.Version]
		if !known || theirs.Path == "" {
			continue
		}
		compared++
		what := theirs.Kind + " " + theirs.Path
		g.Expect(fields).To(HaveKey(theirs.Path), what)
		field := fields[theirs.Path]
		if field.XIntOrString {
			field.Type = "int-or-string"
		}
		g.Expect(field.Type).To(Equal(theirs.Type), what)
		g.Expect(field.required && !theirs.Required).To(BeFalse(), "%s is required", what)
		for _, value := range theirs.Enum {
			g.Expect(len(field.Enum) == 0 || slices.Contains(enum(field), value)).To(BeTrue(), "%s cannot be %s", what, value)
		}
		g.Expect(len(field.Enum) > 0 && len(theirs.Enum) == 0).To(BeFalse(), "%s has to be one of %v", what, enum(field))
	}
	g.Expect(compared).To(BeNumerically(">", 200))
}

// Upstream's controllers, its cloud provider and users need the load balancer kinds to be served as upstream serves them. That
// includes the missing status subresource: upstream writes the status with the object.
func TestLoadBalancerCRDsMatchUpstream(t *testing.T) {
	g, compared := NewWithT(t), 0
	for _, theirs := range upstreamFields(t) {
		if theirs.Path != "" || theirs.Group != "loadbalancer.harvesterhci.io" {
			continue
		}
		for _, crd := range definitions(t) {
			for _, version := range crd.Spec.Versions {
				if crd.Spec.Names.Kind != theirs.Kind || version.Name != theirs.Version {
					continue
				}
				compared++
				ours := theirs
				ours.Group, ours.Plural, ours.Scope = crd.Spec.Group, crd.Spec.Names.Plural, string(crd.Spec.Scope)
				ours.Served, ours.Storage, ours.ShortNames = version.Served, version.Storage, crd.Spec.Names.ShortNames
				ours.StatusSubresource, ours.Columns = version.Subresources != nil && version.Subresources.Status != nil, nil
				for _, column := range version.AdditionalPrinterColumns {
					ours.Columns = append(ours.Columns, []string{column.Name, column.JSONPath, column.Type})
				}
				g.Expect(ours).To(Equal(theirs))
			}
		}
	}
	g.Expect(compared).To(Equal(3))
}

// upstreamFields returns the fields of upstream's kinds.
func upstreamFields(t *testing.T) []upstreamField {
	t.Helper()
	g := NewWithT(t)
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "shared", "upstream", "harvester", "manifests", "upstream-schema.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("../shared/upstream does not exist")
	}
	g.Expect(err).NotTo(HaveOccurred())
	var all []upstreamField
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		theirs := upstreamField{}
		g.Expect(json.Unmarshal(lines.Bytes(), &theirs)).To(Succeed())
		all = append(all, theirs)
	}
	return all
}

func enum(field ourField) []string {
	var values []string
	for _, value := range field.Enum {
		values = append(values, strings.Trim(string(value.Raw), `"`))
	}
	return values
}

// schemas returns the fields of Faultline's kinds by Kind/version.
func schemas(t *testing.T) map[string]map[string]ourField {
	t.Helper()
	g := NewWithT(t)
	all := map[string]map[string]ourField{}
	for _, crd := range definitions(t) {
		for _, version := range crd.Spec.Versions {
			fields := map[string]ourField{}
			collect(fields, "", ourField{JSONSchemaProps: *version.Schema.OpenAPIV3Schema})
			all[crd.Spec.Names.Kind+"/"+version.Name] = fields
		}
	}
	g.Expect(all).NotTo(BeEmpty())
	return all
}

// definitions returns the CRDs of the provider and of the load balancer manager.
func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	g := NewWithT(t)
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, folder := range []string{"crd", "loadbalancer/crd"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "config", folder, "bases", "*.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			crd := &apiextensionsv1.CustomResourceDefinition{}
			g.Expect(yaml.UnmarshalStrict(data, crd)).To(Succeed())
			all = append(all, crd)
		}
	}
	return all
}

// collect adds a field and its nested fields.
func collect(fields map[string]ourField, path string, field ourField) {
	fields[path] = field
	for name, inner := range field.Properties {
		collect(fields, strings.TrimPrefix(path+"."+name, "."), ourField{JSONSchemaProps: inner, required: slices.Contains(field.Required, name)})
	}
	if field.Items != nil {
		collect(fields, path+"[]", ourField{JSONSchemaProps: *field.Items.Schema})
	}
	if field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil {
		collect(fields, path+"{}", ourField{JSONSchemaProps: *field.AdditionalProperties.Schema})
	}
}
