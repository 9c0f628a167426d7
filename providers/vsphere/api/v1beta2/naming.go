// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"fmt"
	"strings"
	"text/template"
)

// maxVMNameLength is that of a DNS label, which the name of a Node is at most.
const maxVMNameLength = 63

// VMName returns the name of the VSphereVM of the Machine of the given name.
// It fails when the template cannot be parsed or executed; whether the outcome
// is a valid name is for the caller to check.
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

// MaxWindowsNameLength is how long the name of a Windows guest may be.
const MaxWindowsNameLength = 15

// WindowsVMName shortens the name that VMName has made of a Machine's, if that is to be a Windows guest: to its beginning and
// its end, which tells the machines of an owner apart. It asks for the length of the Machine's name too, as upstream does, so
// that virtual machines of upstream's are found again.
func WindowsVMName(machine, name string) string {
	const head, tail = 9, 5
	if len(name) < head || max(len(machine), len(name)) <= MaxWindowsNameLength {
		return name
	}
	return strings.TrimSuffix(name[:head], "-") + "-" + name[len(name)-tail:]
}

// trimSuffix takes the string last, so that it can be piped into.
func trimSuffix(suffix, s string) string {
	return strings.TrimSuffix(s, suffix)
}

// trunc keeps the first n bytes of s, or the last -n when n is negative.
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
