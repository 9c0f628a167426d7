// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import "strings"

// templatePrefix and templateSuffix enclose the flavor in the file names of cluster templates, as in clusterctl.
const templatePrefix, templateSuffix = "cluster-template", ".yaml"

// Template returns the file of a cluster template over the provider's failure domains; "" is the default flavor.
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

// FlavorOf returns the flavor of a file that Template names. ok is false for other files.
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

// Plain returns the name under which clusterctl looks for a template of Template, in a repository in which all templates are over failure
// domains; "" for other templates.
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
