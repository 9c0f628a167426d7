// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package all registers the providers there are.
package all

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/harvester"
	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

// providers are all there are. A further one is one more line.
func providers() []provider.Installed {
	return []provider.Installed{
		harvester.Provider{},
		metal3.Provider{Operator: metal3.OperatorOf(os.Getenv)},
		vsphere.Provider{},
	}
}

// Providers are those that can be used as T says: provider.InDemo, InStorm, InKind, benchmark.Provider, or provider.Installed for all.
func Providers[T provider.Installed]() []T {
	var able []T
	for _, p := range providers() {
		if p, ok := p.(T); ok {
			able = append(able, p)
		}
	}
	return able
}

// Named is the provider of a name, to be used as T says.
func Named[T provider.Installed](name string) (found T, err error) {
	able := Providers[T]()
	i := slices.IndexFunc(able, func(p T) bool { return p.Describe().Name == name })
	if i < 0 {
		return found, fmt.Errorf("there is no simulated infrastructure for provider %q: it is one of %s", name, strings.Join(Names[T](), ", "))
	}
	return able[i], nil
}

// Names are those of the providers that can be used as T says.
func Names[T provider.Installed]() []string {
	var names []string
	for _, p := range Providers[T]() {
		names = append(names, p.Describe().Name)
	}
	return names
}
