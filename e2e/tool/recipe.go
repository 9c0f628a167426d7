// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Recipe says how one program is built.
type Recipe struct {
	Name    string
	Folder  string // the module to build in, below the repository's root
	Package string // the package to build
	Module  string // the module whose version the program reports; "" when none
	Version string // of a module that builds alone as it was published; "" where Folder says it
	// Flags are those for the linker.
	Flags    func(version string) string
	Estimate time.Duration // of a build with an empty Go build cache, on two cores
	// Ours is set where the sources are ours: Go's build cache knows better than a sum whether they changed.
	Ours bool
}

// Source is what errors call the program and where it comes from.
func (r Recipe) Source() string {
	if r.Version != "" {
		return r.Name + " from " + r.Package + "@" + r.Version
	}
	return r.Name + " in " + r.Folder
}

// NoFlags are no flags.
func NoFlags(string) string { return "" }

// SetStrings renders linker flags that set variables of a package; pairs
// alternates names and values.
func SetStrings(pkg string, pairs ...string) string {
	var flags []string
	for pair := range slices.Chunk(pairs, 2) {
		flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, pair[0], pair[1]))
	}
	return strings.Join(flags, " ")
}

// GitVersion sets the version in the form that Kubernetes and Cluster API share. Without it Kubernetes claims v0.0.0, which
// clients refuse.
func GitVersion(pkg, version string) string {
	parts := append(strings.Split(strings.TrimPrefix(version, "v"), "."), "", "")
	return SetStrings(pkg, "gitVersion", version, "gitMajor", parts[0], "gitMinor", parts[1], "gitTreeState", "clean")
}
