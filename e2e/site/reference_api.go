// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// kind is a kind with the version that the API server stores.
type kind struct {
	apiextensionsv1.CustomResourceDefinition

	Stored apiextensionsv1.CustomResourceDefinitionVersion
	// Parts are spec and status, each with the fields in it.
	Parts [][]field
}

// field is a field of a kind, with its path.
type field struct {
	Path, Type, Default, Validation, Description string
	Required                                     bool
}

// apiPages returns a page for each provider with the fields of its kinds.
func apiPages(root string) (map[string]string, error) {
	pages := map[string]string{}
	for _, name := range providers(root) {
		crds, err := readCRDs(root, name)
		if err != nil {
			return nil, err
		}
		kinds := make([]kind, len(crds))
		for i, crd := range crds {
			if kinds[i], err = readKind(crd); err != nil {
				return nil, err
			}
		}
		if pages["api-"+name+".md"], err = fill("api.md", map[string]any{"Provider": title(name), "Kinds": kinds}); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// readCRDs returns the CRDs of a provider, those of its infrastructure first.
func readCRDs(root, provider string) ([]apiextensionsv1.CustomResourceDefinition, error) {
	folder := "providers/" + provider + "/config/"
	files, err := readSources(root, folder+"crd/bases/*.yaml", folder+"*/crd/bases/*.yaml")
	crds := make([]apiextensionsv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		if err := yaml.UnmarshalStrict(file.content, &crds[i]); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file.path, err)
		}
	}
	return crds, err
}

// readKind returns the kind of a CRD.
func readKind(crd apiextensionsv1.CustomResourceDefinition) (kind, error) {
	stored := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if stored < 0 {
		return kind{}, fmt.Errorf("CustomResourceDefinition %s has no storage version", crd.Name)
	}
	k := kind{CustomResourceDefinition: crd, Stored: crd.Spec.Versions[stored]}
	schema := k.Stored.Schema.OpenAPIV3Schema
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			k.Parts = append(k.Parts, fields(name, schema.Properties[name], slices.Contains(schema.Required, name)))
		}
	}
	return k, nil
}

// fields returns a field and every field in it, in alphabetical order.
func fields(path string, schema apiextensionsv1.JSONSchemaProps, required bool) []field {
	of := field{Path: path, Type: typeOf(schema), Validation: strings.Join(validations(schema), "; "), Description: schema.Description, Required: required}
	if schema.Default != nil {
		of.Default = string(schema.Default.Raw)
	}
	all := []field{of}
	path, schema = inner(path, schema)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		all = append(all, fields(path+"."+name, schema.Properties[name], slices.Contains(schema.Required, name))...)
	}
	return all
}

// inner returns the path and schema of the innermost items of a list or values of a map.
func inner(path string, schema apiextensionsv1.JSONSchemaProps) (string, apiextensionsv1.JSONSchemaProps) {
	if of, mark, _ := element(schema); of != nil {
		return inner(path+mark, *of)
	}
	return path, schema
}

// element returns the schema of the items of a list or of the values of a map, else nil, the mark of these in a path, and the words for the
// type of the list or map.
func element(schema apiextensionsv1.JSONSchemaProps) (of *apiextensionsv1.JSONSchemaProps, mark, words string) {
	switch {
	case schema.Items != nil && schema.Items.Schema != nil:
		return schema.Items.Schema, "[]", "list of "
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		return schema.AdditionalProperties.Schema, "{}", "map of "
	}
	return nil, "", ""
}

// typeOf returns the type of a field.
func typeOf(schema apiextensionsv1.JSONSchemaProps) string {
	of, _, words := element(schema)
	switch {
	case schema.XIntOrString:
		return "integer or string"
	case of != nil:
		return words + typeOf(*of)
	case schema.Type == "":
		return "any"
	case schema.Format != "":
		return schema.Type + " (" + schema.Format + ")"
	}
	return schema.Type
}

// validations returns what the API server verifies of a value, apart from its type.
func validations(schema apiextensionsv1.JSONSchemaProps) []string {
	rules := enumeration(schema)
	number := func(name string, value *float64) {
		if value != nil {
			rules = append(rules, fmt.Sprintf("%s %v", name, *value))
		}
	}
	count := func(unit string, least, most *int64) {
		switch {
		case least != nil && most != nil:
			rules = append(rules, fmt.Sprintf("%d to %d %s", *least, *most, plural(*most, unit)))
		case least != nil:
			rules = append(rules, fmt.Sprintf("at least %d %s", *least, plural(*least, unit)))
		case most != nil:
			rules = append(rules, fmt.Sprintf("at most %d %s", *most, plural(*most, unit)))
		}
	}
	number("minimum", schema.Minimum)
	number("maximum", schema.Maximum)
	count("character", schema.MinLength, schema.MaxLength)
	count("item", schema.MinItems, schema.MaxItems)
	count("key", schema.MinProperties, schema.MaxProperties)
	if schema.Pattern != "" {
		rules = append(rules, "pattern `"+schema.Pattern+"`")
	}
	if len(schema.XListMapKeys) > 0 {
		rules = append(rules, "unique by `"+strings.Join(schema.XListMapKeys, "`, `")+"`")
	}
	for _, rule := range schema.XValidations {
		if rule.Message != "" {
			rules = append(rules, rule.Message)
		} else {
			rules = append(rules, "`"+rule.Rule+"`")
		}
	}
	if of, _, _ := element(schema); of != nil {
		for _, rule := range validations(*of) {
			rules = append(rules, "each: "+rule)
		}
	}
	return rules
}

// enumeration returns the values that are allowed, if only some are.
func enumeration(schema apiextensionsv1.JSONSchemaProps) []string {
	if len(schema.Enum) == 0 {
		return nil
	}
	values := make([]string, len(schema.Enum))
	for i, value := range schema.Enum {
		values[i] = "`" + strings.Trim(string(value.Raw), `"`) + "`"
		if string(value.Raw) == `""` {
			values[i] = "empty"
		}
	}
	return []string{"one of " + strings.Join(values, ", ")}
}

func plural(count int64, noun string) string {
	if count == 1 {
		return noun
	}
	return noun + "s"
}
