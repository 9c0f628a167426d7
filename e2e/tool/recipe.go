// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Recipe describes how to build one program.
type Recipe struct {
	Name    string
	Folder  string // the module to build in, below the repository's root
	Package string // the package to build
	Module  string // module whose version the program reports; "" if none
	Version string // published version of a module that builds alone; "" if Folder pins it
	// Flags returns linker flags.
	Flags    func(version string) string
	Estimate time.Duration // with an empty Go build cache, on two cores
	// Ours is set for our own sources: Go's build cache detects changes better than a checksum.
	Ours bool
}

// Source returns the program and its origin for errors.
func (r Recipe) Source() string {
	if r.Version != "" {
		return r.Name + " from " + r.Package + "@" + r.Version
	}
	return r.Name + " in " + r.Folder
}

// NoFlags returns no flags.
func NoFlags(string) string { return "" }

// SetStrings returns linker flags that set variables of a package. pairs alternates names and values.
func SetStrings(pkg string, pairs ...string) string {
	var flags []string
	for pair := range slices.Chunk(pairs, 2) {
		flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, pair[0], pair[1]))
	}
	return strings.Join(flags, " ")
}

// GitVersion sets the version variables that Kubernetes and Cluster API share. Without them Kubernetes reports v0.0.0, which clients
// refuse.
func GitVersion(pkg, version string) string {
	parts := append(strings.Split(strings.TrimPrefix(version, "v"), "."), "", "")
	return SetStrings(pkg, "gitVersion", version, "gitMajor", parts[0], "gitMinor", parts[1], "gitTreeState", "clean")
}
