// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import "strings"

// templatePrefix begins the names of cluster templates, as clusterctl has it.
const templatePrefix, templateSuffix = "cluster-template", ".yaml"

// Template is the file of a cluster template over the provider's failure domains; the flavor is "" for the plain one.
func (d Description) Template(flavor string) string {
	name := d.templates()
	if flavor != "" {
		name += "-" + flavor
	}
	return name + templateSuffix
}

func (d Description) templates() string {
	if d.Flavor == "" {
		return templatePrefix
	}
	return templatePrefix + "-" + d.Flavor
}

// FlavorOf is the flavor that Template has the file for; it is not ok for what is no cluster template over failure domains.
func (d Description) FlavorOf(file string) (flavor string, ok bool) {
	rest, ok := strings.CutPrefix(file, d.templates())
	if !ok {
		return "", false
	}
	if rest, ok = strings.CutSuffix(rest, templateSuffix); !ok || rest == "" {
		return "", ok
	}
	return strings.CutPrefix(rest, "-")
}

// Plain is the name that clusterctl looks for when it is asked for the flavor of Template, in a repository in which all templates are
// over failure domains; "" for a template that is not.
func (d Description) Plain(file string) string {
	flavor, ok := d.FlavorOf(file)
	switch {
	case ok:
		return Description{}.Template(flavor)
	case strings.HasPrefix(file, templatePrefix):
		return ""
	}
	return file
}
