// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"fmt"
	"strings"
	"text/template"
)

// maxVMNameLength is the length limit of a DNS label, which also applies to the name of a Node.
const maxVMNameLength = 63

// VMName returns the name of the VSphereVM for the Machine with the given name. It returns an error if the template cannot be
// parsed or executed. The caller must check whether the result is a valid name.
func (n VSphereVMNamingSpec) VMName(machine string) (string, error) {
	if n.Template == "" {
		return machine, nil
	}
	parsed, err := template.New("name").
		Funcs(template.FuncMap{"trimSuffix": trimSuffix, "trunc": trunc}).
		Option("missingkey=error").
		Parse(n.Template)
	if err != nil {
		return "", fmt.Errorf("parsing the naming template: %w", err)
	}
	var name strings.Builder
	if err := parsed.Execute(&name, map[string]any{"machine": map[string]any{"name": machine}}); err != nil {
		return "", fmt.Errorf("executing the naming template: %w", err)
	}
	return trunc(maxVMNameLength, name.String()), nil
}

// MaxWindowsNameLength is the length limit for the name of a Windows guest.
const MaxWindowsNameLength = 15

// WindowsVMName shortens a name returned by VMName for a Windows guest to its beginning and its end, which distinguishes the
// machines of an owner. Like upstream it also depends on the length of the Machine's name, so that virtual machines created by
// upstream are found again.
func WindowsVMName(machine, name string) string {
	const head, tail = 9, 5
	if len(name) < head || max(len(machine), len(name)) <= MaxWindowsNameLength {
		return name
	}
	return strings.TrimSuffix(name[:head], "-") + "-" + name[len(name)-tail:]
}

// trimSuffix takes the string last, so that it can be used in a pipeline.
func trimSuffix(suffix, s string) string {
	return strings.TrimSuffix(s, suffix)
}

// trunc keeps the first n bytes of s, or the last -n if n is negative.
func trunc(n int, s string) string {
	switch {
	case n >= 0 && n < len(s):
		return s[:n]
	case n < 0 && -n < len(s):
		return s[len(s)+n:]
	default:
		return s
	}
}
