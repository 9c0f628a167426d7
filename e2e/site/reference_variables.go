// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// variable is a variable of a provider's templates.
type variable struct {
	// Defaults has its defaults, Flavors the flavors with it, Required those without a default.
	Defaults, Flavors, Required []string
}

// variablesPage returns the page of the variables of the cluster templates.
func variablesPage(root string) (map[string]string, error) {
	type row struct{ Name, Default, In, About string }
	type listed struct {
		Provider  string
		Flavors   []string
		Variables []row
	}
	var all []listed
	for _, name := range providers(root) {
		variables, flavors, err := readVariables(root, name)
		if err != nil {
			return nil, err
		}
		about, err := explanations(root, name)
		if err != nil {
			return nil, err
		}
		of := listed{Provider: name, Flavors: flavors}
		for _, variable := range slices.Sorted(maps.Keys(variables)) {
			v := variables[variable]
			in := "all"
			if slices.ContainsFunc(flavors, func(flavor string) bool { return !slices.Contains(v.Flavors, flavor) }) {
				in = codes(v.Flavors)
			}
			of.Variables = append(of.Variables, row{variable, defaults(*v), in, about[explained(variable)]})
		}
		all = append(all, of)
	}
	page, err := fill("variables.md", all)
	return map[string]string{"variables.md": page}, err
}

// readVariables returns the variables of a provider by name, and its flavors.
func readVariables(root, provider string) (all map[string]*variable, flavors []string, err error) {
	files, err := readSources(root, "templates/"+provider+"/*.yaml")
	if err != nil {
		return nil, nil, err
	}
	all = map[string]*variable{}
	for _, file := range files {
		found, err := yamlprocessor.NewSimpleProcessor().GetVariableMap(file.content)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the variables of %s: %w", file.path, err)
		}
		flavor := flavorOf(file.path)
		if flavor != clusterClass {
			flavors = append(flavors, flavor)
		}
		for name, value := range found {
			if all[name] == nil {
				all[name] = &variable{}
			}
			all[name].add(flavor, value)
		}
	}
	slices.Sort(flavors)
	return all, flavors, nil
}

func (v *variable) add(flavor string, value *string) {
	v.Flavors = append(v.Flavors, flavor)
	slices.Sort(v.Flavors)
	switch {
	case value == nil:
		v.Required = append(v.Required, flavor)
	case !slices.Contains(v.Defaults, *value):
		v.Defaults = append(v.Defaults, *value)
	}
}

// clusterClass stands for the file of the ClusterClass, which is not a flavor.
const clusterClass = "ClusterClass"

// flavorOf returns the flavor of the file of a template.
func flavorOf(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".yaml")
	switch {
	case name == "cluster-template":
		return "default"
	case strings.HasPrefix(name, "clusterclass-"):
		return clusterClass
	}
	return strings.TrimPrefix(name, "cluster-template-")
}

// defaults returns the cell of the defaults: empty if every flavor requires a value.
func defaults(v variable) string {
	var all []string
	for _, value := range v.Defaults {
		if value == "" {
			all = append(all, "an empty text")
		} else {
			all = append(all, code(value))
		}
	}
	if len(all) > 0 && len(v.Required) > 0 {
		all = append(all, "none in "+codes(v.Required))
	}
	return strings.Join(all, ", ")
}

// explanations returns the descriptions of variables in the README of a provider's templates, with links relative to docs.
func explanations(root, provider string) (map[string]string, error) {
	about := map[string]string{}
	links := strings.NewReplacer("](../../docs/", "](", "](#", "](../templates/README.md#", "](../README.md#", "](../templates/README.md#")
	files, err := readSources(root, "templates/README.md", "templates/"+provider+"/README.md")
	for _, file := range files {
		for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z0-9_]+)` \\|[^|]*\\| *(.*?) *\\|$").FindAllStringSubmatch(string(file.content), -1) {
			about[row[1]] = links.Replace(row[2])
		}
	}
	return about, err
}

// explained returns the variable that explains another one: that of the first failure domain explains those of the second and third.
func explained(name string) string {
	return regexp.MustCompile("^([A-Z0-9]+_[A-Z]+_)[BC](|_.*)$").ReplaceAllString(name, "${1}A$2")
}
